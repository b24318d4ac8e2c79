\set post random(1, 200)
\set author random(1, 5)
SELECT id, author_id, title, body, published, views, created_at FROM posts WHERE id = :post;
SELECT id, name, email FROM authors WHERE id = :author;
SELECT id, author_id, title, body, published, views, created_at FROM posts WHERE author_id = :author ORDER BY created_at DESC, id DESC LIMIT 20;
SELECT count(*) FROM posts WHERE author_id = :author;
SELECT 1 FROM posts WHERE author_id = :author LIMIT 1;
SELECT id, name, email FROM authors WHERE id IN (1, 2, 3) ORDER BY id;
SELECT id, author_id, title, body, published, views, created_at FROM posts WHERE id = :author;
SELECT id, name, email FROM authors WHERE id = 1;
SELECT id, title FROM posts WHERE id IN (:post, :author) ORDER BY id;
SELECT views FROM posts WHERE id = :post;
SELECT title FROM posts WHERE id = :author;
SELECT name FROM authors WHERE id = :author;
