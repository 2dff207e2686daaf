import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Instant;
import java.util.Base64;
import java.util.concurrent.Executors;

public final class Run {
    private static final int MAX_BYTES = 8 << 20;

    public static void main(String[] args) throws IOException {
        int port = Integer.parseInt(System.getenv("PORT"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", Run::receive);
        server.start();
    }

    private static void receive(HttpExchange exchange) throws IOException {
        byte[] body = exchange.getRequestBody().readNBytes(MAX_BYTES + 1);
        String[] cells = exchange.getRequestHeaders().getFirst("cells").split(",", -1);
        byte[] answer = body.length > MAX_BYTES ? new byte[0] : verdicts(body, cells).getBytes(UTF_8);
        exchange.sendResponseHeaders(body.length > MAX_BYTES ? 413 : 200, answer.length);
        exchange.getResponseBody().write(answer);
        exchange.close();
    }

    private static String verdicts(byte[] body, String[] cells) {
        String secret = text(cells[0]);
        Instant now = Instant.ofEpochSecond(Long.parseLong(text(cells[5])));
        return VerifyWebhook.service(body, text(cells[1]), secret)
                + " "
                + VerifyWebhook.standard(body, text(cells[2]), text(cells[3]), text(cells[4]), secret, now);
    }

    private static String text(String cell) {
        return cell.isEmpty() ? null : new String(Base64.getDecoder().decode(cell), UTF_8);
    }
}
