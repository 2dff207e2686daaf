import { DOWNLOAD, FILE, fillPath, indented, type SampleRequest, TEXT_FILE } from './sample-request'

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

export const curl = ({
  method,
  path,
  needsToken,
  json,
  form,
  textType,
  isDownload,
}: SampleRequest): string => {
  const isImplied = method === (json !== undefined || form || textType ? 'POST' : 'GET')
  return [
    `curl -sS --fail-with-body ${isImplied ? '' : `-X ${method} `}"$BASE_URL${fillPath(path, (name) => `$${name}`)}"`,
    ...(needsToken ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...(json === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d ${indented(quoted(JSON.stringify(json, null, 2)), 2)}`]),
    ...(form ? [...form.map(([name, value]) => `-F ${quoted(`${name}=${value}`)}`), `-F file=@${FILE}`] : []),
    ...(textType ? [`-H 'Content-Type: ${textType}'`, `--data-binary @${TEXT_FILE}`] : []),
    ...(isDownload ? [`-o ${DOWNLOAD} || cat ${DOWNLOAD}`] : []),
  ].join(' \\\n  ')
}
