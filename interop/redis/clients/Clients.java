// Jedis and Lettuce: the client script, and a cache of the client's. Clients.java HOST PORT HTTP-URL
import io.lettuce.core.ClientOptions;
import io.lettuce.core.KeyValue;
import io.lettuce.core.KillArgs;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanIterator;
import io.lettuce.core.SetArgs;
import io.lettuce.core.protocol.ProtocolVersion;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.csc.CacheConfig;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.params.SetParams;

class Clients {
    static final List<String> NAMES = Arrays.asList("ACCOUNTING", "RESEARCH", "SALES", "OPERATIONS", null, null, null, null, null, null);
    static final HttpClient HTTP = HttpClient.newHttpClient();
    static String host, url;
    static int port;

    public static void main(String[] args) throws Exception {
        host = args[0];
        port = Integer.parseInt(args[1]);
        url = args[2];
        for (var protocol : List.of(RedisProtocol.RESP2, RedisProtocol.RESP3)) jedis(protocol);
        jedisCache();
        for (var protocol : List.of(ProtocolVersion.RESP2, ProtocolVersion.RESP3)) lettuce(protocol);
        lettuceCache();
        System.out.println("Jedis, Lettuce ok");
        System.exit(0); // threads of Lettuce's
    }

    static void check(String what, Object got, Object want) {
        if (!Objects.equals(got, want)) throw new AssertionError(what + " = " + got + ", want " + want);
    }

    static String ask(String method, String path, String body) throws Exception {
        var text = body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body);
        var request = HttpRequest.newBuilder(URI.create(url + path)).method(method, text).header("Content-Type", "application/json");
        return HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString()).body();
    }

    /** changes changes a row and wants to read that within a second, twenty times. */
    static void changes(String who, int from, Supplier<String> read) throws Exception {
        for (int i = 0; i < 20; i++) {
            ask("PATCH", "/emps/7839", "{\"sal\":" + (from + i) + "}");
            for (long until = System.nanoTime() + 1_000_000_000L; !read.get().contains("\"sal\":" + (from + i) + ","); Thread.sleep(1))
                if (System.nanoTime() > until) throw new AssertionError(who + ": " + read.get() + " is not " + (from + i) + " after 1 s");
            read.get();
        }
        ask("PATCH", "/emps/7839", "{\"sal\":5000}");
    }

    static void jedis(RedisProtocol protocol) throws Exception {
        var config = DefaultJedisClientConfig.builder().protocol(protocol).database(1).clientName("interop").build();
        try (var r = RedisClient.builder().hostAndPort(host, port).clientConfig(config).build()) {
            var want = ask("GET", "/depts/10", null);
            check("GET", r.get("depts:10"), want);
            check("GET of no row", r.get("depts:99"), null);
            check("MGET", r.mget("depts:10", "depts:99", "depts:10"), Arrays.asList(want, null, want));
            check("HGETALL", r.hgetAll("emps:7839").get("empName"), "KING");
            check("EXISTS", r.exists("depts:10", "depts:99"), 1L);
            check("TTL", r.ttl("depts:10"), -1L);
            check("TYPE", r.type("depts:10"), "string");
            try (var pipe = r.pipelined()) {
                var replies = new ArrayList<Response<String>>();
                for (int i = 0; i < 100; i++) replies.add(pipe.hget("depts:" + (i % 10 + 1) * 10, "deptName"));
                pipe.sync();
                for (int i = 0; i < 100; i++) check("pipeline, " + i, replies.get(i).get(), NAMES.get(i % 10));
            }
            var keys = new HashSet<String>();
            var cursor = ScanParams.SCAN_POINTER_START;
            do {
                var some = r.scan(cursor, new ScanParams().match("depts:*"));
                keys.addAll(some.getResult());
                cursor = some.getCursor();
            } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
            check("SCAN", keys.size() >= 4, true);
            check("HSET", r.hset("depts:10", "deptLocation", "HERE"), 0L);
            check("HGET", r.hget("depts:10", "deptLocation"), "HERE");
            check("SET NX", r.set("depts:71", "{\"deptName\":\"JEDIS\"}", new SetParams().nx()), "OK");
            check("SET NX again", r.set("depts:71", "{\"deptName\":\"OTHER\"}", new SetParams().nx()), null);
            check("DEL", r.del("depts:71", "depts:78"), 1L);
            try {
                r.flushAll();
                throw new AssertionError("FLUSHALL is done");
            } catch (JedisDataException refused) {
                check("FLUSHALL", refused.getMessage().startsWith("NOPERM"), true);
            }
            check("PING", r.ping(), "PONG");
        }
    }

    static void jedisCache() throws Exception {
        var config = DefaultJedisClientConfig.builder().protocol(RedisProtocol.RESP3).build();
        var cache = CacheConfig.builder().maxSize(10000).build();
        try (var r = RedisClient.builder().hostAndPort(host, port).clientConfig(config).cacheConfig(cache).build()) {
            changes("Jedis", 8000, () -> r.get("emps:7839"));
            check("Jedis keeps copies", r.getCache().getStats().getHitCount() > 0, true);
        }
    }

    static io.lettuce.core.RedisClient client(ProtocolVersion protocol) {
        var client = io.lettuce.core.RedisClient.create(RedisURI.builder().withHost(host).withPort(port).withDatabase(1).build());
        client.setOptions(ClientOptions.builder().protocolVersion(protocol).build());
        return client;
    }

    static void lettuce(ProtocolVersion protocol) throws Exception {
        var connection = client(protocol).connect();
        var r = connection.sync();
        var want = ask("GET", "/depts/10", null);
        check("GET", r.get("depts:10"), want);
        check("GET of no row", r.get("depts:99"), null);
        check("MGET", r.mget("depts:10", "depts:99", "depts:10").stream().map(v -> v.getValueOrElse(null)).toList().equals(
                Arrays.asList(want, null, want)), true);
        check("HGETALL", r.hgetall("emps:7839").get("empName"), "KING");
        check("EXISTS", r.exists("depts:10", "depts:99"), 1L);
        check("TTL", r.ttl("depts:10"), -1L);
        check("TYPE", r.type("depts:10"), "string");
        var replies = new ArrayList<RedisFuture<String>>();
        for (int i = 0; i < 100; i++) replies.add(connection.async().hget("depts:" + (i % 10 + 1) * 10, "deptName"));
        for (int i = 0; i < 100; i++) check("pipeline, " + i, replies.get(i).get(), NAMES.get(i % 10));
        r.multi();
        r.get("depts:10");
        r.exists("depts:99");
        check("MULTI", r.exec().stream().toList(), List.of(want, 0L));
        var keys = new HashSet<String>();
        for (var it = ScanIterator.scan(r, ScanArgs.Builder.matches("depts:*")); it.hasNext(); ) keys.add(it.next());
        check("SCAN", keys.size() >= 4, true);
        check("HSET", r.hset("depts:10", "deptLocation", "HERE"), false);
        check("HGET", r.hget("depts:10", "deptLocation"), "HERE");
        check("SET NX", r.set("depts:70", "{\"deptName\":\"LETTUCE\"}", SetArgs.Builder.nx()), "OK");
        check("SET NX again", r.set("depts:70", "{\"deptName\":\"OTHER\"}", SetArgs.Builder.nx()), null);
        check("DEL", r.del("depts:70", "depts:78"), 1L);
        try {
            r.flushall();
            throw new AssertionError("FLUSHALL is done");
        } catch (RedisCommandExecutionException refused) {
            check("FLUSHALL", refused.getMessage().startsWith("NOPERM"), true);
        }
        check("PING", r.ping(), "PONG");
        connection.close();
    }

    /** lettuceCache reads by what docs/howto/redis.md has, also when its connection is lost. */
    static void lettuceCache() throws Exception {
        var rows = new Rows(host, port);
        changes("Lettuce", 9000, () -> rows.read("emps:7839"));
        var admin = client(ProtocolVersion.RESP3).connect().sync();
        for (int i = 0; i < 3; i++) {
            var me = admin.clientId();
            for (var line : admin.clientList().split("\n")) {
                var id = Long.parseLong(line.split("[ =]")[1]);
                if (id != me) admin.clientKill(KillArgs.Builder.id(id));
            }
            changes("Lettuce, connected again", 9100 + 100 * i, () -> rows.read("emps:7839"));
        }
        check("Lettuce reads", rows.read("emps:7839") != null, true);
        for (long until = System.nanoTime() + 1_000_000_000L; rows.get("emps:7839") == null; rows.read("emps:7839"))
            check("Lettuce keeps copies", System.nanoTime() < until, true);
        admin.getStatefulConnection().close();
    }
}
