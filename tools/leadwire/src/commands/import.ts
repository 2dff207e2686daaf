import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { setTimeout as pause } from 'node:timers/promises'
import { LeadwireProblem } from '@leadwire/client'
import { Argument, type Command, Option } from 'commander'
import { type ApiRequest, callApi } from '../api'
import { type Api, findApi } from '../connection'
import { type Output, render } from '../output'
import { startBar } from '../progress-bar'
import { addApiOptions, parseId } from './run'

const POLL_MS = 1000

/** The maximum length of the name of a file. A longer name is cut. */
const MAX_NAME = 255

const TYPES = { csv: 'text/csv', ndjson: 'application/x-ndjson' }

type Format = keyof typeof TYPES

interface Import extends Output {
  id: number
  state: string
  file_size: number
  bytes_read: number
  rows_created: number
  rows_failed: number
  ignored_columns: { name: string; did_you_mean: string | null }[]
  finished_at: string | null
}

const detectFormat = (file: string): Format => (/\.(csv|tsv|txt)$/i.test(file) ? 'csv' : 'ndjson')

async function* readBytes(file: string, onBytes: (count: number) => void): AsyncGenerator<Buffer> {
  let count = 0
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    yield chunk
    count += chunk.length
    onBytes(count)
  }
}

const send = async (
  api: Api,
  file: string,
  options: { format: Format; encoding: string; webhooks: boolean },
): Promise<Import> => {
  const stats = await stat(file)
  if (stats.isDirectory()) throw new Error(`${file} is a folder, not a file.`)
  const bar = startBar('sending', stats.size)
  const request: ApiRequest = {
    method: 'POST',
    body: Readable.toWeb(Readable.from(readBytes(file, bar.update))) as never,
    duplex: 'half',
    headers: {
      'content-type': `${TYPES[options.format]}; charset=${options.encoding}`,
      'idempotency-key': randomUUID(),
    },
  }
  try {
    const fileName = [...basename(file)].slice(0, MAX_NAME).join('')
    const query = new URLSearchParams({ file_name: fileName, webhooks: String(options.webhooks) })
    const response = await callApi(api, `/manage/imports?${query}`, request)
    return ((await response.json()) as { data: Import }).data
  } finally {
    bar.stop()
  }
}

// While the API is unavailable, the import continues, so polling continues, too.
const isTemporary = (error: unknown) =>
  !(error instanceof LeadwireProblem) || error.status === 429 || error.status >= 500

const pollImport = async (api: Api, importId: number): Promise<Import | undefined> => {
  try {
    return ((await (await callApi(api, `/manage/imports/${importId}`)).json()) as { data: Import }).data
  } catch (error) {
    if (isTemporary(error)) return undefined
    throw error
  }
}

/** Shows the progress of an import until it has finished. Resolves to the finished import. */
const watch = async (api: Api, importId: number): Promise<Import> => {
  let bar: ReturnType<typeof startBar> | undefined
  try {
    for (;;) {
      const found = await pollImport(api, importId)
      if (found) {
        bar ??= startBar('creating', found.file_size)
        bar.update(found.bytes_read, `${found.rows_created} created, ${found.rows_failed} failed`)
        if (found.finished_at !== null) return found
      }
      await pause(POLL_MS)
    }
  } finally {
    bar?.stop()
  }
}

/** Returns an import whose ignored columns are described in one text. */
const describeIgnored = ({ ignored_columns, ...rest }: Import): Output => {
  const described = ignored_columns.map(({ name, did_you_mean }) =>
    did_you_mean === null ? name : `${name} (did you mean ${did_you_mean}?)`,
  )
  return { ...rest, ignored_columns: described.join(', ') || null }
}

/** Adds `leadwire import`. */
export const addImport = (program: Command): void => {
  addApiOptions(program.command('import'))
    .description(
      'create leads from a file, and watch the import until it has finished; Ctrl-C ends the command, but not the import',
    )
    .addArgument(new Argument('[file]', 'CSV or NDJSON, with the fields of POST /manage/leads'))
    .addOption(
      new Option('--format <format>', 'default: by the extension of the file').choices(Object.keys(TYPES)),
    )
    .addOption(
      new Option(
        '--encoding <encoding>',
        'encoding of a file without a byte order mark, such as windows-1252 or utf-16le',
      ).default('utf-8'),
    )
    .option('--webhooks', 'send lead.created or lead.updated for each lead', false)
    .option('--watch <id>', 'watch an earlier import', parseId)
    .option('--failed <file>', 'write the failed rows to this file, for correction and another import')
    .option('--json', 'print JSON', false)
    .action(runImport)
}

/** Writes the failed rows of an import to a file. Without a file, prints how to get them. */
const saveFailedRows = async (
  api: Api,
  { id: importId, rows_failed }: Import,
  file: string | undefined,
): Promise<void> => {
  if (rows_failed === 0) return
  if (file === undefined) {
    const command = `leadwire import --watch ${importId} --failed FILE`
    process.stderr.write(`To save the failed rows for correction and another import: ${command}\n`)
    return
  }
  const response = await callApi(api, `/manage/imports/${importId}/failed-rows`)
  await pipeline(Readable.fromWeb(response.body as ReadableStream), createWriteStream(file))
}

const runImport = async (
  file: string | undefined,
  options: Partial<Api> & {
    format?: Format
    encoding: string
    webhooks: boolean
    watch?: number
    failed?: string
    json: boolean
  },
): Promise<void> => {
  if ((file === undefined) === (options.watch === undefined))
    throw new Error('Give either a file, or --watch with an id.')
  const api = findApi(process.env, options)
  const { format = detectFormat(file ?? ''), encoding, webhooks } = options
  const importId = options.watch ?? (await send(api, file!, { format, encoding, webhooks })).id
  process.stderr.write(`import ${importId}\n`)
  const done = await watch(api, importId)
  process.stdout.write(`${render(options.json ? done : describeIgnored(done), options)}\n`)
  await saveFailedRows(api, done, options.failed)
  if (done.state !== 'finished') process.exitCode = 1
}
