-- fragment: from_nothing
FROM SYSIBM.SYSDUMMY1
