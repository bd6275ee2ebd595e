-- The account of the conformance suite, with what hdbkit doctor advises; run once as SYS when the database is created.
ALTER SESSION SET CONTAINER = FREEPDB1;
CREATE USER bench IDENTIFIED BY "&&password" QUOTA UNLIMITED ON users DEFAULT TABLESPACE users;
GRANT CREATE SESSION, CREATE TABLE, CREATE PROCEDURE, CREATE CLUSTER, ALTER SYSTEM TO bench;
GRANT SELECT_CATALOG_ROLE TO bench;
GRANT EXECUTE ON SYS.DBMS_LOCK TO bench;
