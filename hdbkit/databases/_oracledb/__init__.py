"""The base of Oracle Database and TimesTen, on python-oracledb."""
