//! The cases of the client suite, with tokio-postgres.
use bytes::Bytes;
use futures_util::{pin_mut, stream, SinkExt, StreamExt, TryStreamExt};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{pem::PemObject, CertificateDer};
use serde_json::json;
use std::error::Error;
use std::time::Duration;
use tokio_postgres::config::SslMode;
use tokio_postgres::{AsyncMessage, Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn say(case: &str, outcome: Result<String>) {
    let line = match outcome {
        Ok(value) => json!({"case": case, "value": value}),
        Err(e) => {
            let db = e
                .downcast_ref::<tokio_postgres::Error>()
                .and_then(|e| e.as_db_error());
            json!({"case": case,
                "sqlstate": db.map(|d| d.code().code()).unwrap_or(""),
                "error": db.map(|d| d.message().to_string()).unwrap_or(e.to_string())})
        }
    };
    println!("{line}");
}

/// Where to connect.
struct Target {
    config: Config,
    tls: MakeRustlsConnect,
}

impl Target {
    fn of(args: &[String]) -> Result<Target> {
        let mut config = Config::new();
        config
            .host(&args[1])
            .port(args[2].parse()?)
            .user(&args[3])
            .password(&args[4])
            .ssl_mode(SslMode::Disable);
        let mut roots = RootCertStore::empty();
        if let Some(file) = args.get(5).filter(|f| !f.is_empty()) {
            for certificate in CertificateDer::pem_file_iter(file)? {
                roots.add(certificate?)?;
            }
            config.ssl_mode(SslMode::Require);
        }
        let tls = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Target { config, tls: MakeRustlsConnect::new(tls) })
    }

    async fn connect(&self) -> Result<Client> {
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        tokio::spawn(connection);
        Ok(client)
    }
}

async fn login(c: &Client) -> Result<String> {
    let row = c.query_one("select current_user::text, current_database()::text", &[]).await?;
    Ok(format!("{}|{}", row.get::<_, String>(0), row.get::<_, String>(1)))
}

async fn password(t: &Target) -> Result<String> {
    let mut wrong = Target { config: t.config.clone(), tls: t.tls.clone() };
    wrong.config.password("wrong");
    wrong.connect().await?;
    Ok("it is let in".into())
}

async fn cancel(t: &Target, c: &Client) -> Result<String> {
    let token = c.cancel_token();
    let query = c.simple_query("select pg_sleep(60)");
    pin_mut!(query);
    loop {
        // A cancel that overtakes its query is in vain.
        tokio::select! {
            answer = &mut query => { answer?; break }
            _ = tokio::time::sleep(Duration::from_millis(300)) => token.cancel_query(t.tls.clone()).await?,
        }
    }
    Ok("it is not cancelled".into())
}

async fn parameter(c: &Client) -> Result<String> {
    let big = "x".repeat(1 << 20);
    let row = c.query_one("select length($1::text)", &[&big]).await?;
    Ok(row.get::<_, i32>(0).to_string())
}

async fn result(c: &Client) -> Result<String> {
    let rows = c
        .query_raw("select repeat('x', 65536) from generate_series(1, 1024)", Vec::<i32>::new())
        .await?;
    pin_mut!(rows);
    let mut total = 0;
    while let Some(row) = rows.try_next().await? {
        total += row.get::<_, &str>(0).len();
    }
    Ok(total.to_string())
}

async fn notify(t: &Target, other: &Client) -> Result<String> {
    let (client, mut connection) = t.config.connect(t.tls.clone()).await?;
    let mut messages = Box::pin(stream::poll_fn(move |cx| connection.poll_message(cx)));
    let listen = async {
        client.batch_execute("listen news").await?;
        other.batch_execute("select pg_sleep(1); notify news, 'hello'").await
    };
    let heard = async {
        while let Some(message) = messages.next().await {
            if let AsyncMessage::Notification(n) = message? {
                return Ok::<_, Box<dyn Error>>(n.payload().to_string());
            }
        }
        Err("the connection ends".into())
    };
    let (listened, heard) = tokio::join!(listen, heard);
    listened?;
    heard
}

async fn prepared(c: &Client) -> Result<String> {
    let statement = c.prepare("select $1::int4 + 1").await?;
    let mut out = Vec::new();
    for n in [41, 42] {
        out.push(c.query_one(&statement, &[&n]).await?.get::<_, i32>(0).to_string());
    }
    Ok(out.join(","))
}

async fn copy_in(c: &Client) -> Result<String> {
    c.batch_execute("create temp table copied (n int)").await?;
    let sink = c.copy_in::<_, Bytes>("copy copied from stdin").await?;
    pin_mut!(sink);
    for n in 0..10_000 {
        sink.feed(Bytes::from(format!("{n}\n"))).await?;
    }
    sink.finish().await?;
    let row = c.query_one("select count(*)::text from copied", &[]).await?;
    Ok(row.get(0))
}

async fn copy_out(c: &Client) -> Result<String> {
    let out = c.copy_out("copy copied to stdout").await?;
    pin_mut!(out);
    let mut lines = 0;
    while let Some(bytes) = out.try_next().await? {
        lines += bytes.iter().filter(|b| **b == b'\n').count();
    }
    Ok(lines.to_string())
}

async fn restart(c: &Client) -> Result<String> {
    println!("{}", json!({"case": "waiting"}));
    c.batch_execute("select pg_sleep(60)").await?;
    Ok("it goes on".into())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let target = Target::of(&std::env::args().collect::<Vec<_>>())?;
    let c = target.connect().await?;
    say("login", login(&c).await);
    say("password", password(&target).await);
    say("cancel", cancel(&target, &c).await);
    say("parameter", parameter(&c).await);
    say("result", result(&c).await);
    say("notify", notify(&target, &c).await);
    say("prepared", prepared(&c).await);
    say("copy in", copy_in(&c).await);
    say("copy out", copy_out(&c).await);
    say("restart", restart(&c).await);
    Ok(())
}
