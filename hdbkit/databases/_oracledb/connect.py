"""How Oracle Database is connected to with python-oracledb, and what its errors mean.

Codes of errors are those of the server (ORA, https://docs.oracle.com/en/error-help/db/), of the driver (DPY,
``oracledb/errors.py``) and of its layer over the client library (DPI, ODPI-C). The driver replaces the server's codes
of a lost connection by its own (``ERR_ORACLE_ERROR_XREF`` in ``oracledb/errors.py``); those of the server are known
as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from types import MappingProxyType
from typing import Any, Final

from hdbkit.config import Target
from hdbkit.config.passwords import of_variable
from hdbkit.contracts import Session, SessionOptions
from hdbkit.databases._base.access import CONNECT_TIMEOUT, connect_timeout_s
from hdbkit.databases._base.dbapi import DbapiDatabase
from hdbkit.errors import (
    CannotConnect,
    ErrorClass,
    InputError,
    MissingDriver,
    NoneFree,
    NothingListens,
    NotReady,
    Rejected,
)

ORACLE: Final = "oracle"
_DRIVER: Final = "oracledb"
WALLET_PASSWORD: Final = "HDBKIT_WALLET_PASSWORD"  # noqa: S105  the name of a variable
"""The environment variable with the password of a wallet."""
ORACLE_PORT: Final = 1521

THIN, THICK = "thin", "thick"
ARRAY, ORACLE_DIRECT = "array", "direct"
_ON_OFF: Final = ("on", "off")
_MODE, LOAD, AWR = "mode", "load", "awr"
SNAPSHOTS = "snapshots"
ORACLE_OPTIONS: Final = (
    *(_MODE, "client_lib", "config_dir", "wallet", "protocol", "server_dn_match", "server_cert_dn", "server", "sid"),
    *("sdu", "expire_time", "edition", LOAD, AWR, CONNECT_TIMEOUT),
)
"""The options of a target."""
ORACLE_VALUES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        _MODE: (THIN, THICK),
        "protocol": ("tcp", "tcps"),
        "server": ("dedicated", "shared", "pooled"),
        "server_dn_match": _ON_OFF,
        LOAD: (ARRAY, ORACLE_DIRECT),
        AWR: (SNAPSHOTS,),
    }
)
"""The values of options that have few."""
_BY_DRIVER: Final = MappingProxyType(
    {
        "config_dir": "config_dir",
        "wallet": "wallet_location",
        "protocol": "protocol",
        "server": "server_type",
        "server_cert_dn": "ssl_server_cert_dn",
        "sid": "sid",
        "edition": "edition",
    }
)
"""Our names of options as the driver has them."""
_NUMBERS: Final = ("sdu", "expire_time")

_CLASSES: Final[Mapping[ErrorClass, str]] = {
    ErrorClass.DEADLOCK: "ORA-00060",
    # cannot serialize access; consistent read failure in a serializable transaction
    ErrorClass.SERIALIZATION: "ORA-08177 ORA-08176",
    # busy with NOWAIT or timeout; WAIT expired; library object; distributed transaction
    ErrorClass.LOCK_TIMEOUT: "ORA-00054 ORA-30006 ORA-04021 ORA-02049",
    # call timeout (thin and thick, as the driver names it, and the server's); cancelled; resource manager's limit
    ErrorClass.STATEMENT_TIMEOUT: "DPY-4024 DPI-1067 ORA-03156 ORA-01013 ORA-00040",
    ErrorClass.CONNECTION_LOST: (
        "DPY-4011 DPY-1001 DPI-1010 DPI-1080 DPY-4033 "  # closed; not connected; idle for too long
        "ORA-00022 ORA-00028 ORA-00031 ORA-00045 ORA-01012 ORA-01041 "  # killed, not logged on
        "ORA-01033 ORA-01034 ORA-01089 ORA-01090 ORA-01092 "  # the instance starts, stops or has ended
        "ORA-02396 ORA-02399 "  # the profile's idle and connect time
        "ORA-03113 ORA-03114 ORA-03135 ORA-12153 ORA-12537 ORA-12547 ORA-12570 ORA-12571 ORA-12583 "  # network
        "ORA-00378 ORA-00609 ORA-01043 ORA-03122 ORA-27146 ORA-28511 "  # others that close it, for the driver
        "ORA-25402 ORA-25408 ORA-25409 "  # failover lost the transaction or the call
        "ORA-00600 ORA-00602 ORA-00603 ORA-56600"  # the server process has ended
    ),
    # unique; not null (insert, update); check; parent; child; too long; too large
    ErrorClass.CONSTRAINT: (
        "ORA-00001 ORA-01400 ORA-01407 ORA-02290 ORA-02291 ORA-02292 ORA-12899 ORA-01438 ORA-01401"
    ),
    ErrorClass.RESOURCES: (
        "ORA-00018 ORA-00020 ORA-02391 "  # sessions, processes, sessions of the account
        "ORA-01000 ORA-04030 ORA-04031 ORA-04036 "  # cursors, memory
        "ORA-01536 ORA-01631 ORA-01650 ORA-01652 ORA-01653 ORA-01654 "  # space
        "ORA-01658 ORA-01659 ORA-01688 ORA-01691 "
        "ORA-01555 ORA-30036 ORA-00257 ORA-19809 ORA-01237"  # undo, archive, recovery area
    ),
}
CLASS_OF: Final[Mapping[str, ErrorClass]] = MappingProxyType(
    {code: error_class for error_class, codes in _CLASSES.items() for code in codes.split()}
)
"""The class of an error by its code; other errors are ``OTHER``, such as ORA-00942 and ORA-01031 (privileges)."""
_NO_PRIVILEGE: Final = frozenset({"ORA-00942", "ORA-01031", "ORA-00990", "ORA-06550"})
"""The table or view does not exist for this account; insufficient privileges; a block that uses such an object."""

_SERVICE = "name a service that the listener has (lsnrctl services), after the slash of the target"
_NETWORK = "check host and port, and that the listener runs (lsnrctl status)"
_NAMES = (
    "name the folder of tnsnames.ora in the option config_dir of the target, or write oracle://user@host:port/service"
)
_CLIENT = (
    "install Oracle Instant Client (Basic Light, with the package libaio), and name its folder in the option "
    "client_lib of the target; or use mode=thin"
)
_REFUSED: Final[Mapping[str, tuple[type[CannotConnect], str]]] = MappingProxyType(
    {
        "ORA-01017": (Rejected, "check account and password (HDBKIT_PASSWORD)"),
        "ORA-01005": (Rejected, "set HDBKIT_PASSWORD to the password"),
        "DPY-4001": (Rejected, "set HDBKIT_PASSWORD to the password, or name a wallet"),
        "ORA-01045": (Rejected, "grant it as an administrator: GRANT CREATE SESSION"),
        "ORA-28000": (Rejected, "let an administrator unlock it (ACCOUNT UNLOCK)"),
        "ORA-28001": (Rejected, "set a new password as an administrator"),
        "ORA-12514": (CannotConnect, _SERVICE),
        "DPY-6001": (CannotConnect, _SERVICE),
        "ORA-12505": (CannotConnect, _SERVICE),
        "DPY-6003": (CannotConnect, _SERVICE),
        "ORA-12541": (NothingListens, _NETWORK),
        "ORA-12543": (CannotConnect, _NETWORK),
        "ORA-12545": (CannotConnect, _NETWORK),
        "ORA-12154": (CannotConnect, _NAMES),
        "DPY-4000": (CannotConnect, _NAMES),
        "DPY-4026": (CannotConnect, _NAMES),
        "DPY-4027": (CannotConnect, _NAMES),
        "ORA-00018": (NoneFree, "end sessions, or raise the parameter sessions"),
        "ORA-00020": (NoneFree, "end sessions, or raise the parameter processes"),
        "ORA-12516": (NoneFree, "end sessions, or raise the parameter processes"),
        "ORA-12519": (NoneFree, "end sessions, or raise the parameter processes"),
        "ORA-12520": (NoneFree, "end sessions, or raise the parameter processes"),
        "ORA-12528": (NotReady, "wait until the database is open"),
        "ORA-01033": (NotReady, "wait until the database is open"),
        "ORA-01034": (NotReady, "start the instance, and open the database"),
        "ORA-01109": (NotReady, "let an administrator open it"),
        "DPI-1047": (CannotConnect, _CLIENT),
        "DPI-1072": (CannotConnect, _CLIENT),
        "DPY-2019": (CannotConnect, "this process has used mode=thin; start a new one for mode=thick"),
        "DPY-3010": (CannotConnect, "the server is too old for mode=thin; use mode=thick"),
        "DPY-3015": (CannotConnect, "the account has an old password verifier; set its password again"),
        "DPY-3001": (
            CannotConnect,
            "the server demands what mode=thin lacks (native encryption); use mode=thick or tcps",
        ),
        "DPY-6002": (Rejected, "the certificate is another server's; check server_cert_dn and server_dn_match"),
    }
)
"""By code: how a refused connection is reported, and what to do."""


def driver(kind: str = ORACLE) -> Any:
    """The driver's module, which reads long texts as such. Raises ``MissingDriver`` of an extra ``kind``."""
    try:
        import oracledb
    except ImportError:
        raise MissingDriver(kind, _DRIVER, kind) from None
    oracledb.defaults.fetch_lobs = False
    return oracledb


def code_and_text(error: Exception) -> tuple[str, str]:
    """The code of an error such as ``ORA-00001``, and its text in one line without the link to its help."""
    found = error.args[0] if error.args else error
    text = str(getattr(found, "message", found))
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("Help:")]
    return str(getattr(found, "full_code", "")), "; ".join(lines) or type(error).__name__


def oracle_connection(target: Target, options: SessionOptions) -> Any:
    """A connection to the only address of ``target``.

    Raises:
        CannotConnect: the listener or the server refuses it, or there is none.
        InputError: there is neither a host nor a name.
    """
    module = driver()
    given = oracle_parameters(target, options)
    try:
        if target.options.get(_MODE) == THICK:
            load_client(module, target)
        return module.connect(**given)
    except module.Error as error:
        raise _refused(target, error) from None
    except OSError as error:  # the driver does not convert the errors of looking up a name
        raise CannotConnect(target.url, error.strerror or str(error), _NETWORK) from None


def oracle_parameters(target: Target, options: SessionOptions) -> dict[str, Any]:
    """What the driver is called with: host, port and service, or the name of an entry in tnsnames.ora.

    Raises:
        InputError: there is neither a host nor a name.
    """
    if not target.host and not target.database:
        raise InputError(
            f"target {target.described} names no database; write oracle://user@host:1521/service, or "
            "oracle://user@/X for the entry X of tnsnames.ora"
        )
    given: dict[str, Any] = {
        "user": target.user,
        "password": target.secret(),
        "tcp_connect_timeout": float(connect_timeout_s(target, options.connect_timeout_s)),
        "program": options.application,
    }
    given |= {theirs: target.options[ours] for ours, theirs in _BY_DRIVER.items() if ours in target.options}
    for name in _NUMBERS:
        if name in target.options:
            given[name] = _whole(target, name)
    if "server_dn_match" in target.options:
        given["ssl_server_dn_match"] = target.options["server_dn_match"] == "on"
    if wallet_password := of_variable(WALLET_PASSWORD):
        given["wallet_password"] = wallet_password
    if not target.host:
        return {**given, "dsn": target.database}
    given |= {"host": target.host, "port": target.port or ORACLE_PORT}
    return given if "sid" in given else {**given, "service_name": target.database}


def _whole(target: Target, name: str) -> int:
    text = target.options[name]
    if not (text.isascii() and text.isdigit()):
        raise InputError(f"target {target.described}: the option {name} is '{text}'; give a whole number")
    return int(text)


def load_client(module: Any, target: Target) -> None:
    """Use Oracle's client library in this process; once."""
    if module.is_thin_mode():
        module.init_oracle_client(
            lib_dir=target.options.get("client_lib"), config_dir=target.options.get("config_dir")
        )


def _refused(target: Target, error: Exception) -> CannotConnect:
    """The sentence for a refused connection."""
    code, text = code_and_text(error)
    secret = target.secret()
    reason = text.replace(secret, "...") if secret else text
    if code == "DPY-6005" and "refused" in text:  # nothing listens at the port
        return NothingListens(target.url, reason, _NETWORK)
    kind, advice = _REFUSED.get(code, (CannotConnect, _NETWORK))
    return kind(target.url, reason, advice)


class OracledbDatabase(DbapiDatabase):
    """Contract: :class:`hdbkit.contracts.Database`."""

    driver = "oracledb"
    paramstyle = "named"
    no_answer = _NO_PRIVILEGE

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """Those of the driver; a connection that breaks may raise one of the operating system."""
        return (driver(self.kind).Error, OSError)

    def slow_load(self, session: Session) -> str | None:
        """Arrays are sent; a direct path is a choice, since it locks tables."""
        return None

    def provision(self, admin: Target, target: Target) -> list[str]:
        """Create the account if it is missing, with what a build needs; the database must exist."""
        role = target.user or ""
        with closing(self.connect(admin)) as session:
            if session.query("account", role=role)[0][0]:
                return []
            session.query("create_role", role=role, password=target.new_password())
        return [f"account {role}"]
