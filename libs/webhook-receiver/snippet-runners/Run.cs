using System;
using System.IO;
using System.Linq;
using System.Net;
using System.Text;
using System.Threading.Tasks;

public static class Run
{
    public static void Main()
    {
        var listener = new HttpListener();
        listener.Prefixes.Add("http://127.0.0.1:" + Environment.GetEnvironmentVariable("PORT") + "/");
        listener.Start();
        while (true)
        {
            var context = listener.GetContext();
            Task.Run(() => Receive(context));
        }
    }

    private static void Receive(HttpListenerContext context)
    {
        var answer = "";
        if (context.Request.ContentLength64 > 8 << 20) context.Response.StatusCode = 413;
        else
        {
            var body = new MemoryStream();
            context.Request.InputStream.CopyTo(body);
            answer = Verdicts(body.ToArray(), context.Request.Headers["cells"].Split(',').Select(Text).ToArray());
        }
        context.Response.Close(Encoding.UTF8.GetBytes(answer), false);
    }

    private static string Verdicts(byte[] body, string[] cells)
    {
        var now = DateTimeOffset.FromUnixTimeSeconds(long.Parse(cells[5]));
        var service = VerifyWebhook.Service(body, cells[1], cells[0]);
        var standard = VerifyWebhook.Standard(body, cells[2], cells[3], cells[4], cells[0], now);
        return (service + " " + standard).ToLowerInvariant();
    }

    private static string Text(string cell)
    {
        return cell == "" ? null : Encoding.UTF8.GetString(Convert.FromBase64String(cell));
    }
}
