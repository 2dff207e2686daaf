import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { LeadwireProblem } from '@leadwire/client'
import { Argument, type Command, Option } from 'commander'
import { type ApiRequest, callApi } from '../api'
import { type Api, findApi } from '../connection'
import { type Output, render } from '../output'
import { startBar } from '../progress-bar'
import { addApiOptions, id } from './run'

const LOOK_MS = 1000

const TYPES = { csv: 'text/csv', ndjson: 'application/x-ndjson' }

type Format = keyof typeof TYPES

interface Import extends Output {
  id: number
  state: string
  file_size: number
  bytes_read: number
  rows_created: number
  rows_failed: number
  finished_at: string | null
}

const formatOf = (file: string): Format => (/\.(csv|tsv|txt)$/i.test(file) ? 'csv' : 'ndjson')

async function* bytesOf(file: string, onBytes: (count: number) => void): AsyncGenerator<Buffer> {
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
  const found = await stat(file)
  if (found.isDirectory()) throw new Error(`${file} is a folder, not a file.`)
  const { size } = found
  const bar = startBar('sending', size)
  const request: ApiRequest = {
    method: 'POST',
    body: Readable.toWeb(Readable.from(bytesOf(file, bar.update))) as never,
    duplex: 'half',
    headers: {
      'content-type': `${TYPES[options.format]}; charset=${options.encoding}`,
      'idempotency-key': randomUUID(),
    },
  }
  try {
    const response = await callApi(api, `/manage/imports?webhooks=${options.webhooks}`, request)
    return ((await response.json()) as { data: Import }).data
  } finally {
    bar.stop()
  }
}

// The import goes on whether it is watched or not: what is unavailable will be back.
const isAway = (error: unknown) =>
  !(error instanceof LeadwireProblem) || error.status === 429 || error.status >= 500

const look = async (api: Api, importId: number): Promise<Import | undefined> => {
  try {
    return ((await (await callApi(api, `/manage/imports/${importId}`)).json()) as { data: Import }).data
  } catch (error) {
    if (isAway(error)) return undefined
    throw error
  }
}

/** Shows how far an import is until it has ended, and resolves with it. */
const watch = async (api: Api, importId: number): Promise<Import> => {
  let bar: ReturnType<typeof startBar> | undefined
  try {
    for (;;) {
      const found = await look(api, importId)
      if (found) {
        bar ??= startBar('creating', found.file_size)
        bar.update(found.bytes_read, `${found.rows_created} created, ${found.rows_failed} refused`)
        if (found.finished_at !== null) return found
      }
      await pause(LOOK_MS)
    }
  } finally {
    bar?.stop()
  }
}

/** `leadwire import` */
export const addImport = (program: Command): void => {
  addApiOptions(program.command('import'))
    .description(
      'create leads from a file, and watch until all of it is done; Ctrl-C ends the watching alone',
    )
    .addArgument(new Argument('[file]', 'CSV or NDJSON, with the fields of POST /manage/leads'))
    .addOption(
      new Option('--format <format>', 'by default that of the extension').choices(Object.keys(TYPES)),
    )
    .addOption(
      new Option('--encoding <encoding>', 'of a file without a byte order mark')
        .choices(['utf-8', 'windows-1252'])
        .default('utf-8'),
    )
    .option('--webhooks', 'send Lead Created for each lead', false)
    .option('--watch <id>', 'watch an import that was sent before', id)
    .option('--json', 'print JSON', false)
    .action(runImport)
}

const runImport = async (
  file: string | undefined,
  options: Partial<Api> & {
    format?: Format
    encoding: string
    webhooks: boolean
    watch?: number
    json: boolean
  },
): Promise<void> => {
  if ((file === undefined) === (options.watch === undefined))
    throw new Error('Give a file, or --watch and an id.')
  const api = findApi(process.env, options)
  const { format = formatOf(file ?? ''), encoding, webhooks } = options
  const importId = options.watch ?? (await send(api, file!, { format, encoding, webhooks })).id
  process.stderr.write(`import ${importId}\n`)
  const done = await watch(api, importId)
  process.stdout.write(`${render(done, options)}\n`)
  if (done.state !== 'finished') process.exitCode = 1
}
