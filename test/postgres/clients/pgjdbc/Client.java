// The cases of the client suite, with pgjdbc.
import java.io.StringReader;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.postgresql.PGConnection;

public class Client {
    interface Act {
        String run() throws Exception;
    }

    static String url;
    static Properties settings = new Properties();

    public static void main(String[] args) throws Exception {
        url = "jdbc:postgresql://" + args[0] + ":" + args[1] + "/";
        settings.setProperty("user", args[2]);
        settings.setProperty("password", args[3]);
        settings.setProperty("sslmode", args[4].isEmpty() ? "disable" : "verify-full");
        if (!args[4].isEmpty()) {
            settings.setProperty("sslrootcert", args[4]);
        }
        Connection c = connect(settings);
        run("login", () -> value(c, "select current_user || '|' || current_database()"));
        run("password", Client::password);
        run("cancel", () -> cancel(c));
        run("parameter", () -> parameter(c));
        run("result", () -> result(c));
        run("notify", () -> listen(c));
        run("prepared", () -> prepared(c));
        run("copy in", () -> copyIn(c));
        run("copy out", () -> copyOut(c));
        run("restart", () -> restart(c));
    }

    static Connection connect(Properties p) throws SQLException {
        return DriverManager.getConnection(url, p);
    }

    static void run(String name, Act act) throws Exception {
        try {
            say(name, "\"value\":" + quote(act.run()));
        } catch (SQLException e) {
            String state = e.getSQLState() == null ? "" : e.getSQLState();
            say(name, "\"sqlstate\":" + quote(state) + ",\"error\":" + quote(e.getMessage()));
        }
    }

    static void say(String name, String more) {
        System.out.println("{\"case\":" + quote(name) + "," + more + "}");
    }

    static String quote(String s) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : s.toCharArray()) {
            out.append(c < ' ' || c == '"' || c == '\\' ? String.format("\\u%04x", (int) c) : String.valueOf(c));
        }
        return out.append('"').toString();
    }

    static String value(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            r.next();
            return r.getString(1);
        }
    }

    static String password() throws SQLException {
        Properties wrong = (Properties) settings.clone();
        wrong.setProperty("password", "wrong");
        connect(wrong).close();
        return "it is let in";
    }

    static String cancel(Connection c) throws Exception {
        try (Statement s = c.createStatement()) {
            CountDownLatch over = new CountDownLatch(1);
            Thread repeat = new Thread(() -> {
                try { // a cancel that overtakes its query is in vain
                    while (!over.await(300, TimeUnit.MILLISECONDS)) {
                        s.cancel();
                    }
                } catch (InterruptedException | SQLException e) {
                    throw new IllegalStateException(e);
                }
            });
            repeat.start();
            try {
                s.execute("select pg_sleep(60)");
                return "it is not cancelled";
            } finally {
                over.countDown();
                repeat.join();
            }
        }
    }

    static String parameter(Connection c) throws SQLException {
        try (PreparedStatement s = c.prepareStatement("select length(?)")) {
            s.setString(1, "x".repeat(1 << 20));
            ResultSet r = s.executeQuery();
            r.next();
            return r.getString(1);
        }
    }

    static String result(Connection c) throws SQLException {
        c.setAutoCommit(false); // the driver fetches in parts only inside a transaction
        try (Statement s = c.createStatement()) {
            s.setFetchSize(64);
            ResultSet r = s.executeQuery("select repeat('x', 65536) from generate_series(1, 1024)");
            long total = 0;
            while (r.next()) {
                total += r.getString(1).length();
            }
            return String.valueOf(total);
        } finally {
            c.setAutoCommit(true);
        }
    }

    static String listen(Connection c) throws SQLException {
        try (Connection listener = connect(settings); Statement s = listener.createStatement(); Statement o = c.createStatement()) {
            s.execute("listen news");
            o.execute("select pg_sleep(1)");
            o.execute("notify news, 'hello'");
            return listener.unwrap(PGConnection.class).getNotifications(20_000)[0].getParameter();
        }
    }

    static String prepared(Connection c) throws SQLException {
        try (PreparedStatement s = c.prepareStatement("select ?::int + 1")) {
            s.unwrap(org.postgresql.PGStatement.class).setPrepareThreshold(1);
            StringBuilder out = new StringBuilder();
            for (int n = 41; n <= 42; n++) {
                s.setInt(1, n);
                ResultSet r = s.executeQuery();
                r.next();
                out.append(n == 41 ? "" : ",").append(r.getInt(1));
            }
            return out.toString();
        }
    }

    static String copyIn(Connection c) throws Exception {
        try (Statement s = c.createStatement()) {
            s.execute("create temp table copied (n int)");
        }
        StringBuilder lines = new StringBuilder();
        for (int n = 0; n < 10_000; n++) {
            lines.append(n).append('\n');
        }
        c.unwrap(PGConnection.class).getCopyAPI().copyIn("copy copied from stdin", new StringReader(lines.toString()));
        return value(c, "select count(*) from copied");
    }

    static String copyOut(Connection c) throws Exception {
        StringWriter out = new StringWriter();
        c.unwrap(PGConnection.class).getCopyAPI().copyOut("copy copied to stdout", out);
        return String.valueOf(out.toString().lines().count());
    }

    static String restart(Connection c) throws SQLException {
        System.out.println("{\"case\":\"waiting\"}");
        try (Statement s = c.createStatement()) {
            s.execute("select pg_sleep(60)");
        }
        return "it goes on";
    }
}
