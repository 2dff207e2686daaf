import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public final class VerifyWebhook {
    private VerifyWebhook() {}

    /** Checks webhook-signature: pass the raw bytes and Instant.now(). */
    public static boolean standard(
            byte[] body, String id, String timestamp, String signatures, String secret, Instant now) {
        byte[] key = standardKey(required(secret));
        if (id == null || id.isEmpty() || timestamp == null || signatures == null) return false;
        if (!timestamp.matches("[0-9]{1,12}")) return false;
        if (Math.abs(now.getEpochSecond() - Long.parseLong(timestamp)) > 300) return false;
        byte[] hmac = hmac("HmacSHA256", key, (id + "." + timestamp + ".").getBytes(UTF_8), body);
        String right = "v1," + Base64.getEncoder().encodeToString(hmac);
        boolean valid = false;
        for (String signature : signatures.split(" ")) valid |= isEqual(signature, right);
        return valid;
    }

    /** Checks X-SERVICE-Signature. */
    public static boolean service(byte[] body, String signature, String secret) {
        byte[] hmac = hmac("HmacSHA1", required(secret).getBytes(UTF_8), body);
        StringBuilder right = new StringBuilder();
        for (byte one : hmac) right.append(String.format("%02x", one));
        return isEqual(signature, right.toString());
    }

    private static byte[] standardKey(String secret) {
        String encoded = secret.startsWith("whsec_") ? secret.substring(6) : "";
        try {
            byte[] key = Base64.getDecoder().decode(encoded);
            String padded = Base64.getEncoder().encodeToString(key);
            String unpadded = Base64.getEncoder().withoutPadding().encodeToString(key);
            if (key.length > 0 && (encoded.equals(padded) || encoded.equals(unpadded))) return key;
        } catch (IllegalArgumentException noBase64) {
            // Then it is its own key.
        }
        return secret.getBytes(UTF_8);
    }

    private static byte[] hmac(String algorithm, byte[] key, byte[]... parts) {
        try {
            Mac mac = Mac.getInstance(algorithm);
            mac.init(new SecretKeySpec(key, algorithm));
            for (byte[] part : parts) mac.update(part);
            return mac.doFinal();
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static boolean isEqual(String given, String right) {
        return given != null && MessageDigest.isEqual(given.getBytes(UTF_8), right.getBytes(UTF_8));
    }

    private static String required(String secret) {
        if (secret == null || secret.isEmpty()) throw new IllegalArgumentException("the webhook secret is missing");
        return secret;
    }
}
