import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Instant;
import java.util.Base64;

public final class Run {
    public static void main(String[] args) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] cells = line.split("\t", -1);
            byte[] body = Base64.getDecoder().decode(cells[1]);
            Instant now = Instant.ofEpochSecond(Long.parseLong(cells[6]));
            String secret = text(cells[0]);
            boolean service = VerifyWebhook.service(body, text(cells[2]), secret);
            boolean standard =
                    VerifyWebhook.standard(body, text(cells[3]), text(cells[4]), text(cells[5]), secret, now);
            System.out.println(service + " " + standard);
        }
    }

    private static String text(String cell) {
        return cell.isEmpty() ? null : new String(Base64.getDecoder().decode(cell), UTF_8);
    }
}
