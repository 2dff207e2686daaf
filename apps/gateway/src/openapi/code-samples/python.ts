import { literal, PYTHON } from './literals'
import { DOWNLOAD, FILE, fillPath, indented, type SampleRequest, TEXT_FILE } from './sample-request'

const modulesOf = ({ form, isDownload }: SampleRequest) =>
  [...(isDownload ? [] : ['json']), 'os', 'urllib.error', 'urllib.request', ...(form ? ['uuid'] : [])].map(
    (name) => `import ${name}`,
  )

const part = (name: string, value: string) =>
  `f'--{boundary}\\r\\nContent-Disposition: form-data; name="${name}"\\r\\n\\r\\n${value}\\r\\n'`

// The standard library has no multipart forms.
const formOf = (fields: [string, string][]) => [
  'boundary = uuid.uuid4().hex',
  'head = (',
  ...fields.map(([name, value]) => `    ${part(name, value)}`),
  `    f'--{boundary}\\r\\nContent-Disposition: form-data; name="file"; filename="${FILE}"\\r\\n\\r\\n'`,
  ')',
  `with open("${FILE}", "rb") as file:`,
  '    body = head.encode() + file.read() + f"\\r\\n--{boundary}--\\r\\n".encode()',
  '',
]

const argumentsOf = ({ method, path, needsToken, json, form, textType }: SampleRequest) => {
  const headers = [
    ...(needsToken ? [`"Authorization": f"Bearer {os.environ['TOKEN']}",`] : []),
    ...(json === undefined ? [] : ['"Content-Type": "application/json",']),
    ...(textType ? [`"Content-Type": "${textType}",`] : []),
    ...(form ? ['"Content-Type": f"multipart/form-data; boundary={boundary}",'] : []),
  ]
  return [
    `f"{os.environ['BASE_URL']}${fillPath(path, (name) => `{os.environ['${name}']}`)}",`,
    ...(method === 'GET' ? [] : [`method="${method}",`]),
    ...(headers.length > 0 ? [`headers={${indented(`\n${headers.join('\n')}`, 4)}\n},`] : []),
    ...(json === undefined ? [] : [`data=json.dumps(${literal(json, PYTHON)}).encode(),`]),
    ...(form ? ['data=body,'] : []),
    ...(textType ? [`data=open("${TEXT_FILE}", "rb").read(),`] : []),
  ]
}

export const python = (request: SampleRequest): string =>
  [
    ...modulesOf(request),
    '',
    ...(request.form ? formOf(request.form) : []),
    `request = urllib.request.Request(${indented(`\n${argumentsOf(request).join('\n')}`, 4)}\n)`,
    'try:',
    '    with urllib.request.urlopen(request) as response:',
    ...(request.isDownload
      ? [`        with open("${DOWNLOAD}", "wb") as file:`, '            file.write(response.read())']
      : ['        print(json.load(response))']),
    'except urllib.error.HTTPError as error:',
    '    raise SystemExit(error.read().decode())',
  ].join('\n')
