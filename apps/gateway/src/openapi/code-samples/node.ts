import { JAVASCRIPT, literal } from './literals'
import { DOWNLOAD, FILE, fillPath, indented, type SampleRequest, TEXT_FILE } from './sample-request'

const imports = ({ form, textType, isDownload }: SampleRequest) => {
  const names = [...(form || textType ? ['readFile'] : []), ...(isDownload ? ['writeFile'] : [])]
  return names.length > 0 ? [`import { ${names.join(', ')} } from 'node:fs/promises'`, ''] : []
}

const append = (name: string, value: string) => `form.append('${name}', ${literal(value, JAVASCRIPT)})`

const formOf = (fields: [string, string][]) => [
  'const form = new FormData()',
  ...fields.map(([name, value]) => append(name, value)),
  `form.append('file', new Blob([await readFile('${FILE}')]), '${FILE}')`,
  '',
]

const optionsOf = ({ method, needsToken, json, form, textType }: SampleRequest) => {
  const headers = [
    ...(needsToken ? [`Authorization: \`Bearer \${process.env.TOKEN}\`,`] : []),
    ...(json === undefined ? [] : ["'Content-Type': 'application/json',"]),
    ...(textType ? [`'Content-Type': '${textType}',`] : []),
  ]
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}',`]),
    ...(headers.length > 0 ? [`headers: {${indented(`\n${headers.join('\n')}`, 2)}\n},`] : []),
    ...(json === undefined ? [] : [`body: JSON.stringify(${literal(json, JAVASCRIPT)}),`]),
    ...(form ? ['body: form,'] : []),
    ...(textType ? [`body: await readFile('${TEXT_FILE}'),`] : []),
  ]
  return options.length > 0 ? `, {${indented(`\n${options.join('\n')}`, 2)}\n}` : ''
}

export const node = (request: SampleRequest): string => {
  const path = fillPath(request.path, (name) => `\${process.env.${name}}`)
  return [
    ...imports(request),
    ...(request.form ? formOf(request.form) : []),
    `const response = await fetch(\`\${process.env.BASE_URL}${path}\`${optionsOf(request)})`,
    'if (!response.ok) throw new Error(await response.text())',
    request.isDownload
      ? `await writeFile('${DOWNLOAD}', Buffer.from(await response.arrayBuffer()))`
      : 'console.log(await response.json())',
  ].join('\n')
}
