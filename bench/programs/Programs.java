// Asks for a document by its key, again and again, by one client of Java: see bench/README.md.
// java Programs.java CLIENT URL FIRST KEYS CALLERS WARMUP SECONDS
import com.sun.management.OperatingSystemMXBean;
import io.lettuce.core.RedisURI;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.sql.DriverManager;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.csc.CacheConfig;

class Programs {
    static int first, keys, callers;
    static final AtomicLong failed = new AtomicLong();

    public static void main(String[] args) throws Exception {
        first = Integer.parseInt(args[2]);
        keys = Integer.parseInt(args[3]);
        callers = Integer.parseInt(args[4]);
        double warmup = Math.max(2, Double.parseDouble(args[5])), seconds = Double.parseDouble(args[6]);
        Supplier<IntFunction<String>> clients = clients(args[0], args[1]);
        var ask = clients.get();
        for (int n = 0; n < keys; n++) ask.apply(first + n);
        long before = keys + run(clients, warmup, new ConcurrentLinkedQueue<>());
        var times = new ConcurrentLinkedQueue<Double>();
        var os = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long used = os.getProcessCpuTime(), began = System.nanoTime();
        long answers = run(clients, seconds, times);
        double took = (System.nanoTime() - began) / 1e9, cpu = (os.getProcessCpuTime() - used) / 1e3;
        double[] sorted = times.stream().mapToDouble(t -> t).sorted().toArray();
        System.out.printf("{\"answers\":%d,\"all\":%d,\"failed\":%d,\"seconds\":%f,\"user_us\":%f,\"system_us\":0,"
            + "\"p50_us\":%f,\"p99_us\":%f}%n", answers, before + answers, failed.get(), took, cpu,
            sorted[sorted.length / 2], sorted[sorted.length * 99 / 100]);
        System.exit(0);
    }

    // clients returns what gives each thread its way to ask.
    static Supplier<IntFunction<String>> clients(String client, String url) {
        var at = URI.create(url.startsWith("jdbc:") ? url.substring(5) : url);
        switch (client) {
            case "Jedis": case "Jedis-cached": {
                var pool = new ConnectionPoolConfig();
                pool.setMaxTotal(callers + 2);
                pool.setMaxIdle(callers + 2);
                var config = DefaultJedisClientConfig.builder();
                var builder = RedisClient.builder().hostAndPort(at.getHost(), at.getPort()).poolConfig(pool);
                if (client.equals("Jedis-cached")) {
                    config.protocol(RedisProtocol.RESP3);
                    builder.cacheConfig(CacheConfig.builder().maxSize(100_000).build());
                }
                var r = builder.clientConfig(config.build()).build();
                return () -> n -> r.get("depts:" + n);
            }
            case "Lettuce": {
                var c = io.lettuce.core.RedisClient.create(RedisURI.create(at.getHost(), at.getPort())).connect().sync();
                return () -> n -> c.get("depts:" + n);
            }
            case "Lettuce-rows": { // with copies, as docs/howto/redis.md has it
                var r = new Rows(at.getHost(), at.getPort());
                return () -> n -> r.read("depts:" + n);
            }
            case "JDBC":
                return () -> {
                    try {
                        var c = DriverManager.getConnection("jdbc:postgresql://" + at.getHost() + ":" + at.getPort() + at.getPath()
                            + "?user=postgres&prepareThreshold=1");
                        var select = c.prepareStatement("SELECT doc FROM docs WHERE id = ?");
                        return n -> {
                            try {
                                select.setInt(1, n);
                                try (var rows = select.executeQuery()) { return rows.next() ? rows.getString(1) : null; }
                            } catch (Exception e) { throw new RuntimeException(e); }
                        };
                    } catch (Exception e) { throw new RuntimeException(e); }
                };
        }
        throw new IllegalArgumentException(client);
    }

    static long run(Supplier<IntFunction<String>> clients, double seconds, ConcurrentLinkedQueue<Double> times) throws Exception {
        var count = new AtomicLong();
        var asks = new ArrayList<IntFunction<String>>();
        for (int i = 0; i < callers; i++) asks.add(clients.get());
        long until = System.nanoTime() + (long) (seconds * 1e9);
        var threads = new ArrayList<Thread>();
        for (var ask : asks) {
            var thread = new Thread(() -> {
                var random = ThreadLocalRandom.current();
                long n = 0;
                for (long began; (began = System.nanoTime()) < until; n += 16) {
                    for (int i = 0; i < 16; i++) {
                        String answer = ask.apply(first + random.nextInt(keys));
                        if (answer == null || answer.length() < 1000) failed.incrementAndGet();
                    }
                    times.add((System.nanoTime() - began) / 16e3);
                }
                count.addAndGet(n);
            });
            thread.start();
            threads.add(thread);
        }
        for (var thread : threads) thread.join();
        return count.get();
    }
}
