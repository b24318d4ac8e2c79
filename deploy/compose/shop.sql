-- The shop of docs/tutorial/postgresql.md. The postgres image runs it once, when its volume is new.
CREATE TABLE product (id int PRIMARY KEY, name text NOT NULL, price int NOT NULL);
INSERT INTO product VALUES (1, 'kettle', 30), (2, 'teapot', 25);
