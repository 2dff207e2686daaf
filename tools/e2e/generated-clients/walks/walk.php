<?php
// Creates, lists and retrieves a lead, attaches a file and downloads it, with Guzzle or with PHP's own streams.

/** Sends a request with PHP's own streams. Returns the text of the response. */
function sendStream(string $method, string $path, string $contentType = '', string $body = ''): string
{
    $headers = ['Authorization: Bearer ' . getenv('TOKEN')];
    if ($contentType !== '') {
        $headers[] = "Content-Type: $contentType";
    }
    $options = ['method' => $method, 'header' => $headers, 'content' => $body];
    return file_get_contents(getenv('BASE_URL') . $path, false, stream_context_create(['http' => $options]));
}

function attachByStream(string $path): string
{
    $body = "--XX\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nNotes\r\n"
        . "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"24\\\" Grüße.txt\"\r\n\r\nnotes\r\n--XX--\r\n";
    return sendStream('POST', $path, 'multipart/form-data; boundary=XX', $body);
}

/** Sends a request with Guzzle. Returns the text of the response. */
function sendGuzzle(string $method, string $path, array $options = []): string
{
    require_once 'GuzzleHttp/autoload.php';
    $client = new GuzzleHttp\Client(['headers' => ['Authorization' => 'Bearer ' . getenv('TOKEN')]]);
    return (string) $client->request($method, getenv('BASE_URL') . $path, $options)->getBody();
}

function attachByGuzzle(string $path): string
{
    return sendGuzzle('POST', $path, ['multipart' => [
        ['name' => 'name', 'contents' => 'Notes'],
        ['name' => 'file', 'contents' => 'notes', 'filename' => '24%22 Grüße.txt'],
    ]]);
}

$isGuzzle = $argv[1] === 'guzzle';
$get = $isGuzzle ? 'sendGuzzle' : 'sendStream';
$fields = file_get_contents(__DIR__ . '/lead.json');
$created = $isGuzzle
    ? sendGuzzle('POST', '/leads', ['json' => json_decode($fields)])
    : sendStream('POST', '/leads', 'application/json', $fields);
$reference = json_decode($created)->data->reference;
$page = json_decode($get('GET', '/leads'));
$lead = json_decode($get('GET', "/leads/$reference"))->data;
$path = "/leads/$reference/attachments";
$attached = json_decode($isGuzzle ? attachByGuzzle($path) : attachByStream($path))->data;
echo json_encode([
    'listed' => array_map(static fn ($each) => $each->reference, $page->data),
    'email' => $lead->customer->email,
    'file' => $get('GET', "$path/$attached->id"),
]);
