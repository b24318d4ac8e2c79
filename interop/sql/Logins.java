import java.sql.DriverManager;
import java.util.Properties;
import java.util.Scanner;

/** Logs in by pgjdbc; see logins.py for what comes in and goes out. */
class Logins {
  public static void main(String[] args) {
    var in = new Scanner(System.in);
    while (in.hasNextLine()) {
      var c = in.nextLine().split(" ");
      var p = new Properties();
      p.put("user", c[5]);
      p.put("password", c[6]);
      p.put("sslmode", c[3]);
      p.put("gssEncMode", "disable");
      if (!c[4].equals("default")) {
        p.put("channelBinding", c[4]);
      }
      String result;
      try (var db = DriverManager.getConnection("jdbc:postgresql://" + c[1] + ":" + c[2] + "/postgres", p);
          var rows = db.createStatement().executeQuery("SELECT current_user")) {
        rows.next();
        result = rows.getString(1);
      } catch (Exception e) {
        result = String.valueOf(e.getMessage()).replaceAll("\\s+", " ");
      }
      System.out.println(String.join("\t", "pgjdbc", c[0], result));
    }
  }
}
