// Panels follow the browser's light or dark scheme, which only the browser knows.
if (matchMedia("(prefers-color-scheme: dark)").matches)
  for (const link of document.querySelectorAll("a.themed")) {
    const address = new URL(link.href);
    address.searchParams.set("theme", "dark");
    link.href = address;
  }
