// A button that asks for the browser's notifications, and a notification when long work ended while nobody looked at
// the page. The choice belongs to the browser, for all panels of the site; where it cannot notify there is no button.
const KEY = "hdbkit-notifications", CHANGED = "hdbkit-notifications-changed";

function render({ model, el }) {
  if (!("Notification" in window) || !window.isSecureContext) return;
  const button = document.createElement("button");
  const isOn = () => Notification.permission === "granted" && localStorage.getItem(KEY) === "on";

  function show() {
    const denied = Notification.permission === "denied";
    button.setAttribute("aria-pressed", isOn());
    button.textContent = isOn() ? "Notifies" : "Notify me";
    button.disabled = denied;
    button.title = denied
      ? "this browser refuses notifications of this site; its settings can allow them"
      : "a notification of the browser when work of 20 s or more has ended and this page is not in front";
  }
  async function change() {
    const on = !isOn() && (await Notification.requestPermission()) === "granted";
    localStorage.setItem(KEY, on ? "on" : "off");
    window.dispatchEvent(new Event(CHANGED));
  }
  function heard({ title, body, tag }) {
    if (!isOn() || (document.visibilityState === "visible" && document.hasFocus())) return;
    new Notification(title, { body, tag }).onclick = () => window.focus();
  }

  button.type = "button";
  button.className = "hdbkit-bell hdbkit-icon-bell";
  button.addEventListener("click", change);
  window.addEventListener(CHANGED, show);
  model.on("msg:custom", heard);
  show();
  el.append(button);
  return () => {
    window.removeEventListener(CHANGED, show);
    model.off("msg:custom", heard);
  };
}

export default { render };
