using System;
using System.Linq;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;

public static class VerifyWebhook
{
    /// <summary>Checks webhook-signature: pass the raw bytes and DateTimeOffset.UtcNow.</summary>
    public static bool Standard(
        byte[] body, string id, string timestamp, string signatures, string secret, DateTimeOffset now)
    {
        if (string.IsNullOrEmpty(secret)) throw new ArgumentException("the webhook secret is missing");
        if (string.IsNullOrEmpty(id) || !Regex.IsMatch(timestamp ?? "", @"\A[0-9]{1,12}\z")) return false;
        if (Math.Abs(now.ToUnixTimeSeconds() - long.Parse(timestamp)) > 300) return false;
        using (var hmac = new HMACSHA256(StandardKey(secret)))
        {
            var content = Encoding.UTF8.GetBytes(id + "." + timestamp + ".").Concat(body).ToArray();
            var right = "v1," + Convert.ToBase64String(hmac.ComputeHash(content));
            return (signatures ?? "").Split(' ').Count(signature => IsEqual(signature, right)) > 0;
        }
    }

    /// <summary>Checks X-SERVICE-Signature.</summary>
    public static bool Service(byte[] body, string signature, string secret)
    {
        if (string.IsNullOrEmpty(secret)) throw new ArgumentException("the webhook secret is missing");
        using (var hmac = new HMACSHA1(Encoding.UTF8.GetBytes(secret)))
        {
            var right = string.Concat(hmac.ComputeHash(body).Select(one => one.ToString("x2")));
            return IsEqual(signature, right);
        }
    }

    private static byte[] StandardKey(string secret)
    {
        var encoded = secret.StartsWith("whsec_", StringComparison.Ordinal) ? secret.Substring(6) : "";
        try
        {
            var key = Convert.FromBase64String(encoded.PadRight((encoded.Length + 3) / 4 * 4, '='));
            var padded = Convert.ToBase64String(key);
            if (key.Length > 0 && (encoded == padded || encoded == padded.TrimEnd('='))) return key;
        }
        catch (FormatException)
        {
        }
        return Encoding.UTF8.GetBytes(secret);
    }

    private static bool IsEqual(string given, string right)
    {
        return CryptographicOperations.FixedTimeEquals(
            Encoding.UTF8.GetBytes(given ?? ""), Encoding.UTF8.GetBytes(right));
    }
}
