// redis-rs: the client script, and its cache. redis_rs HOST PORT HTTP-URL
use redis::{AsyncCommands, Commands, RedisResult, Value};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (host, port, url) = (&args[1], &args[2], &args[3]);
    for protocol in ["resp2", "resp3"] {
        reads(&format!("redis://{host}:{port}/1?protocol={protocol}"), url).unwrap();
    }
    tokio::runtime::Runtime::new().unwrap().block_on(caches(&format!("redis://{host}:{port}?protocol=resp3"), url)).unwrap();
    println!("redis-rs ok");
}

// ask asks over HTTP.
fn ask(url: &str, method: &str, path: &str, body: &str) -> String {
    let address = url.strip_prefix("http://").unwrap();
    let mut tcp = TcpStream::connect(address).unwrap();
    write!(
        tcp,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut text = String::new();
    tcp.read_to_string(&mut text).unwrap();
    text.split_once("\r\n\r\n").unwrap().1.to_string()
}

fn reads(at: &str, url: &str) -> RedisResult<()> {
    let want = ask(url, "GET", "/depts/10", "");
    let mut c = redis::Client::open(at)?.get_connection()?;
    assert_eq!(c.get::<_, String>("depts:10")?, want);
    assert_eq!(c.get::<_, Option<String>>("depts:99")?, None);
    let many: Vec<Option<String>> = c.mget(&["depts:10", "depts:99", "depts:10"])?;
    assert_eq!(many, vec![Some(want.clone()), None, Some(want.clone())]);
    let king: std::collections::HashMap<String, String> = c.hgetall("emps:7839")?;
    assert_eq!(king["empName"], "KING");
    assert_eq!(c.exists::<_, i64>(&["depts:10", "depts:99"])?, 1);
    assert_eq!(c.ttl::<_, i64>("depts:10")?, -1);
    let mut pipe = redis::pipe();
    for i in 0..100 {
        pipe.hget(format!("depts:{}", i % 10 * 10), "deptName");
    }
    let names: Vec<Option<String>> = pipe.query(&mut c)?;
    assert_eq!(names.iter().flatten().count(), 40);
    let both: (String, i64) = redis::pipe().atomic().get("depts:10").exists("depts:99").query(&mut c)?;
    assert_eq!(both, (want.clone(), 0));
    let keys = c.scan_match::<_, String>("depts:*")?.collect::<RedisResult<Vec<_>>>()?;
    assert!(keys.len() >= 4);
    assert_eq!(c.hset::<_, _, _, i64>("depts:10", "deptLocation", "HERE")?, 0);
    assert_eq!(c.hget::<_, _, String>("depts:10", "deptLocation")?, "HERE");
    assert!(c.set_nx::<_, _, Value>("depts:75", "{}").is_err()); // SETNX is no command here
    assert_eq!(redis::cmd("FLUSHALL").query::<Value>(&mut c).unwrap_err().code(), Some("NOPERM"));
    assert_eq!(redis::cmd("PING").query::<String>(&mut c)?, "PONG");
    Ok(())
}

async fn caches(at: &str, url: &str) -> RedisResult<()> {
    let config = redis::AsyncConnectionConfig::new().set_cache_config(redis::caching::CacheConfig::new());
    let mut c = redis::Client::open(at)?.get_multiplexed_async_connection_with_config(&config).await?;
    for i in 0..20 {
        ask(url, "PATCH", "/emps/7839", &format!("{{\"sal\":{}}}", 8000 + i));
        let want = format!("\"sal\":{},", 8000 + i);
        let until = Instant::now() + Duration::from_secs(1);
        loop {
            let got: String = c.get("emps:7839").await?;
            if got.contains(&want) {
                break;
            }
            assert!(Instant::now() < until, "{got} has no {want} after 1 s");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let _: String = c.get("emps:7839").await?;
    }
    let stats = c.get_cache_statistics().expect("a cache");
    assert!(stats.hit > 0, "nothing is kept");
    ask(url, "PATCH", "/emps/7839", "{\"sal\":5000}");
    Ok(())
}
