import jakarta.persistence.*;
import java.io.*;
import java.sql.*;
import java.time.Instant;
import java.util.*;
import java.util.function.Function;
import org.hibernate.SessionFactory;
import org.hibernate.Session;
import org.hibernate.annotations.DynamicInsert;
import org.hibernate.cfg.Configuration;

/** The same as orms.py by clients of Java: Orms CLIENT URL. */
public class Orms {
    interface Client {
        Object act(String action, int k) throws SQLException;
    }

    public static void main(String[] args) throws Exception {
        var url = args[1].replaceFirst("postgresql://([^@]*)@(.*)", "jdbc:postgresql://$2?user=$1");
        Client client = null;
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            var words = line.split(" ");
            if (client == null) client = open(args[0], url);
            var text = new StringBuilder();
            write(client.act(words[0], Integer.parseInt(words[1])), text);
            System.out.println(text);
        }
        System.exit(0);
    }

    static Client open(String name, String url) throws SQLException {
        return switch (name) {
            case "pgjdbc" -> new Pgjdbc(url);
            case "Hibernate" -> new Hibernate(url, false);
            case "Hibernate, autocommit" -> new Hibernate(url, true);
            default -> throw new IllegalArgumentException(name);
        };
    }

    /** Writes a value as JSON. */
    static void write(Object value, StringBuilder to) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            to.append(value);
        } else if (value instanceof List<?> list) {
            to.append('[');
            for (var one : list) {
                if (to.charAt(to.length() - 1) != '[') to.append(',');
                write(one, to);
            }
            to.append(']');
        } else {
            var text = value.toString().replace("\\", "\\\\").replace("\"", "\\\"");
            to.append('"').append(text).append('"');
        }
    }
}

class Pgjdbc implements Orms.Client {
    static final String POST =
        "SELECT id, author_id, title, body, published, views, created_at FROM posts ";
    static final String AUTHOR = "SELECT id, name, email FROM authors ";
    final Connection db;

    Pgjdbc(String url) throws SQLException {
        db = DriverManager.getConnection(url);
    }

    List<List<Object>> rows(String sql, Object value) throws SQLException {
        var list = new ArrayList<List<Object>>();
        try (var statement = db.prepareStatement(sql)) {
            statement.setObject(1, value);
            var found = statement.executeQuery();
            while (found.next()) {
                var row = new ArrayList<Object>();
                int columns = found.getMetaData().getColumnCount();
                for (int i = 1; i <= columns; i++) row.add(found.getObject(i));
                list.add(row);
            }
        }
        return list;
    }

    Object change(String sql, int k) throws SQLException {
        try (var statement = db.prepareStatement(sql)) {
            statement.setInt(1, k);
            return statement.executeUpdate();
        }
    }

    public Object act(String action, int k) throws SQLException {
        switch (action) {
            case "get": return rows(POST + "WHERE id = ?", k);
            case "unique": return rows(AUTHOR + "WHERE email = ?", "a" + k + "@example.org");
            case "list":
                return rows(POST + "WHERE author_id = ? ORDER BY created_at DESC, id DESC LIMIT 20", k);
            case "count": return rows("SELECT count(*) FROM posts WHERE author_id = ?", k);
            case "exists":
                return rows("SELECT 1 FROM posts WHERE author_id = ? LIMIT 1", k).size() > 0;
            case "preload":
                var posts = rows(POST + "WHERE id <= ? ORDER BY id", 10 * k);
                var ids = new TreeSet<Object>();
                for (var post : posts) ids.add(post.get(1));
                var array = db.createArrayOf("int4", ids.toArray());
                return List.of(posts, rows(AUTHOR + "WHERE id = ANY(?) ORDER BY id", array));
            case "insert":
                var insert = "INSERT INTO posts (author_id, title) VALUES (?, 'new') RETURNING id";
                return rows(insert, k).get(0).get(0);
            case "update":
                return change("UPDATE posts SET views = views + 1, title = 'changed' WHERE id = ?", k);
            case "delete": return change("DELETE FROM posts WHERE id = ?", k);
            case "transaction":
                db.setAutoCommit(false);
                var found = rows(POST + "WHERE id = ?", k);
                db.commit();
                db.setAutoCommit(true);
                return found;
        }
        return null;
    }
}

@Entity(name = "Author")
@Table(name = "authors")
class Author {
    @Id @GeneratedValue(strategy = GenerationType.IDENTITY) int id;
    String name, email;
}

@Entity(name = "Post")
@Table(name = "posts")
@DynamicInsert
class Post {
    @Id @GeneratedValue(strategy = GenerationType.IDENTITY) int id;
    @ManyToOne(fetch = FetchType.LAZY) @JoinColumn(name = "author_id") Author author;
    String title, body;
    Boolean published;
    Long views;
    @Column(name = "created_at") Instant createdAt;

    List<Object> row() {
        return Arrays.asList(id, author.id, title, body, published, views, createdAt);
    }
}

class Hibernate implements Orms.Client {
    final SessionFactory factory;

    Hibernate(String url, boolean autocommit) {
        factory = new Configuration().addAnnotatedClass(Author.class).addAnnotatedClass(Post.class)
            .setProperty("hibernate.connection.url", url)
            .setProperty("hibernate.connection.autocommit", autocommit).buildSessionFactory();
    }

    static List<Object> rows(Collection<Post> posts) {
        var list = new ArrayList<Object>();
        for (var post : posts) list.add(post.row());
        return list;
    }

    static Object get(Session s, int k) {
        var post = s.find(Post.class, k);
        return post == null ? null : rows(List.of(post));
    }

    public Object act(String action, int k) {
        Function<Session, Object> read = s -> switch (action) {
            case "get" -> get(s, k);
            case "unique" -> s.createQuery("from Author where email = :e", Author.class)
                .setParameter("e", "a" + k + "@example.org").getSingleResult().name;
            case "list" -> rows(s.createQuery("from Post where author.id = :k "
                + "order by createdAt desc, id desc", Post.class).setParameter("k", k)
                .setMaxResults(20).list());
            case "count" -> s.createQuery("select count(*) from Post where author.id = :k", Long.class)
                .setParameter("k", k).getSingleResult();
            case "exists" -> s.createQuery("select 1 from Post where author.id = :k", Integer.class)
                .setParameter("k", k).setMaxResults(1).list().size() > 0;
            case "preload" -> rows(s.createQuery("from Post p join fetch p.author "
                + "where p.id <= :k order by p.id", Post.class).setParameter("k", 10 * k).list());
            default -> null;
        };
        Function<Session, Object> write = s -> {
            switch (action) {
                case "insert":
                    var made = new Post();
                    made.author = s.getReference(Author.class, k);
                    made.title = "new";
                    s.persist(made);
                    return made.id;
                case "update":
                    var post = s.find(Post.class, k);
                    post.title = "changed";
                    post.views++;
                    return null;
                case "delete":
                    s.remove(s.find(Post.class, k));
                    return null;
                case "transaction":
                    return get(s, k);
            }
            return null;
        };
        return switch (action) {
            case "insert", "update", "delete", "transaction" -> factory.fromTransaction(write);
            default -> factory.fromSession(read);
        };
    }
}
