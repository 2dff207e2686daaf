using System;
using System.Text;

public static class Run
{
    public static void Main()
    {
        for (var line = Console.ReadLine(); line != null; line = Console.ReadLine())
        {
            var cells = line.Split('\t');
            var body = Convert.FromBase64String(cells[1]);
            var now = DateTimeOffset.FromUnixTimeSeconds(long.Parse(cells[6]));
            var service = VerifyWebhook.Service(body, Text(cells[2]), Text(cells[0]));
            var standard = VerifyWebhook.Standard(
                body, Text(cells[3]), Text(cells[4]), Text(cells[5]), Text(cells[0]), now);
            Console.WriteLine((service + " " + standard).ToLowerInvariant());
        }
    }

    private static string Text(string cell)
    {
        return cell == "" ? null : Encoding.UTF8.GetString(Convert.FromBase64String(cell));
    }
}
