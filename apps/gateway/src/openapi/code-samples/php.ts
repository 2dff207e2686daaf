import { literal, PHP } from './literals'
import { DOWNLOAD, FILE, fillPath, indented, type SampleRequest, TEXT_FILE } from './sample-request'

const addressOf = (path: string) =>
  `getenv('BASE_URL') . '${fillPath(path, (name) => `' . getenv('${name}') . '`)}'`.replace(/ \. ''$/, '')

const bodyOf = ({ json, form, textType }: SampleRequest) => {
  if (json !== undefined) return [`CURLOPT_POSTFIELDS => json_encode(${literal(json, PHP)}),`]
  if (textType) return [`CURLOPT_POSTFIELDS => file_get_contents('${TEXT_FILE}'),`]
  if (!form) return []
  const fields = form.map(([name, value]) => `'${name}' => ${literal(value, PHP)},`)
  const members = [...fields, `'file' => new CURLFile('${FILE}'),`]
  return [`CURLOPT_POSTFIELDS => [${indented(`\n${members.join('\n')}`, 4)}\n],`]
}

const optionsOf = (request: SampleRequest) => {
  const headers = [
    ...(request.needsToken ? ["'Authorization: Bearer ' . getenv('TOKEN')"] : []),
    ...(request.json === undefined ? [] : ["'Content-Type: application/json'"]),
    ...(request.textType ? [`'Content-Type: ${request.textType}'`] : []),
  ]
  return [
    ...(request.method === 'GET' ? [] : [`CURLOPT_CUSTOMREQUEST => '${request.method}',`]),
    ...(headers.length > 0 ? [`CURLOPT_HTTPHEADER => [${headers.join(', ')}],`] : []),
    ...bodyOf(request),
    'CURLOPT_RETURNTRANSFER => true,',
  ]
}

export const php = (request: SampleRequest): string =>
  [
    '<?php',
    `$curl = curl_init(${addressOf(request.path)});`,
    `curl_setopt_array($curl, [${indented(`\n${optionsOf(request).join('\n')}`, 4)}\n]);`,
    '$body = curl_exec($curl);',
    `if (curl_getinfo($curl, CURLINFO_RESPONSE_CODE) !== ${request.status}) {`,
    '    throw new RuntimeException($body ?: curl_error($curl));',
    '}',
    request.isDownload ? `file_put_contents('${DOWNLOAD}', $body);` : 'print_r(json_decode($body, true));',
  ].join('\n')
