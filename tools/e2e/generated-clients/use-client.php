<?php
// Creates, lists and retrieves a lead, attaches a file and downloads it, with the client of openapi-generator.
require 'GuzzleHttp/autoload.php';

$library = __DIR__ . '/out/php/lib/';
spl_autoload_register(static function (string $class) use ($library): void {
    $file = $library . str_replace('\\', '/', substr($class, strlen('OpenAPI\\Client\\'))) . '.php';
    if (str_starts_with($class, 'OpenAPI\\Client\\') && is_file($file)) {
        require $file;
    }
});

$configuration = (new OpenAPI\Client\Configuration())
    ->setHost(getenv('BASE_URL'))
    ->setAccessToken(getenv('TOKEN'));
$leads = new OpenAPI\Client\Api\LeadsApi(null, $configuration);
$attachments = new OpenAPI\Client\Api\AttachmentsApi(null, $configuration);
$request = new OpenAPI\Client\Model\CreateLeadRequest([
    'name' => 'Bay window',
    'first_name' => 'Ada',
    'last_name' => 'Lovelace',
    'email' => 'ada@example.com',
    'phone' => '020 7946 0123',
    'postcode' => 'SW1A 1AA',
    'referrer' => 'Website',
    'status' => 'open',
]);
$reference = $leads->createLead($request)->getData()->getReference();
$page = $leads->listLeads();
$lead = $leads->retrieveLead($reference)->getData();
$path = tempnam(sys_get_temp_dir(), 'notes') . '.txt';
file_put_contents($path, 'notes');
$attached = $attachments->attachFile($reference, 'Notes', new SplFileObject($path))->getData();
$file = $attachments->downloadAttachment($reference, $attached->getId());
unlink($path);
echo json_encode([
    'listed' => array_map(static fn ($each) => $each->getReference(), $page->getData()),
    'email' => $lead->getCustomer()->getEmail(),
    'file' => file_get_contents($file->getPathname()),
]);
