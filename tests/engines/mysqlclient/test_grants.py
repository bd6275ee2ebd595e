"""What an account may do, from the lines of SHOW GRANTS as the servers write them."""

from __future__ import annotations

from hdbkit.databases._mysqlclient.grants import Grants

LINES = [
    "GRANT USAGE ON *.* TO `lim`@`%` IDENTIFIED BY PASSWORD '*8EA85D96C379566C9675EA6DCD1852E2821C4A67'",
    "GRANT SELECT, INSERT, SLAVE MONITOR ON *.* TO `lim`@`%` WITH GRANT OPTION",
    "REVOKE INSERT ON `kept`.* FROM `lim`@`%`",
    "GRANT DELETE ON `my\\_shop`.* TO `r1`",
    "GRANT DELETE ON `a_c%`.* TO PUBLIC",
    "GRANT ALL PRIVILEGES ON `all ``of`` it`.* TO `lim`@`%`",
    "GRANT UPDATE (`a`, `b`), REFERENCES ON `shop`.`Things` TO `lim`@`%`",
    "GRANT EXECUTE ON PROCEDURE `shop`.`move` TO `lim`@`%`",
    "GRANT `r2`@`%` TO `lim`@`%`",
    "GRANT PROXY ON ``@`%` TO `root`@`localhost` WITH GRANT OPTION",
    "SET DEFAULT ROLE `r2` FOR `lim`@`%`",
]


def test_privileges_on_everything_may_be_revoked_of_a_database() -> None:
    grants = Grants(LINES)
    assert grants.everywhere("SLAVE MONITOR")
    assert not grants.everywhere("PROCESS")
    assert grants.on("INSERT", "shop", "things")
    assert not grants.on("INSERT", "kept", "things")
    assert grants.on("SELECT", "kept", "things")
    assert not grants.everywhere("DELETE")
    assert Grants(["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost`"]).everywhere("PROCESS")


def test_the_name_of_a_database_is_a_pattern_unless_the_server_takes_it_literally() -> None:
    grants, literal = Grants(LINES), Grants(LINES, literal=True)
    assert [grants.on_database("DELETE", name) for name in ("my_shop", "myXshop", "abcde", "ac")] == [
        *(True, False, True, False)
    ]
    assert [literal.on_database("DELETE", name) for name in ("my_shop", "abcde", "a_c%")] == [False, False, True]
    assert grants.on_database("DROP", "all `of` it")
    assert (grants.level("a_b`c%"), literal.level("a_b`c%")) == (r"`a\_b``c\%`.*", "`a_b``c%`.*")


def test_a_grant_names_a_database_as_an_earlier_one_does() -> None:
    """Servers that find two grants on a database use one, and not always the narrower."""
    earlier = Grants(["GRANT CREATE ON `my_shop`.* TO `lim`@`%`"])
    both = Grants(["GRANT CREATE ON `my_shop`.* TO `lim`@`%`", "GRANT DROP ON `my\\_shop`.* TO `lim`@`%`"])
    wider = Grants(["GRANT SELECT ON `my%`.* TO `lim`@`%`"])
    assert [one.level("my_shop") for one in (earlier, both, wider)] == ["`my_shop`.*", *[r"`my\_shop`.*"] * 2]
    assert [one.is_replaced("my_shop") for one in (earlier, both, wider)] == [False, False, True]
    assert [one.level("myXshop") for one in (earlier, wider)] == ["`myXshop`.*"] * 2


def test_a_privilege_on_a_table_or_a_column_suffices_for_that_table() -> None:
    grants = Grants(LINES)
    assert grants.on("UPDATE", "shop", "things")
    assert not grants.on("UPDATE", "shop", "others")
    assert not grants.on_database("UPDATE", "shop")
    assert grants.on("EXECUTE", "shop", "MOVE")
    assert not grants.on("EXECUTE", "shop", "things")
