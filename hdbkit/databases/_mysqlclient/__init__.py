"""The base of MariaDB and MySQL, on mysqlclient."""
