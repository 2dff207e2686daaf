import { createWriteStream } from 'node:fs'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Command, Option } from 'commander'
import { callApi } from '../api'
import { type Api, findApi } from '../connection'
import { printableLines } from '../output'
import { startBar } from '../progress-bar'
import { addApiOptions } from './run'

interface Options extends Partial<Api> {
  format: 'ndjson' | 'csv'
  createdFrom?: string
  createdTo?: string
  filter: string[]
  bom: boolean
}

const LINE_FEED = 0x0a

/** How many leads there will be; undefined when only some are asked for. */
const totalOf = async (api: Api, { createdFrom, createdTo, filter }: Options): Promise<number | undefined> =>
  createdFrom || createdTo || filter.length > 0
    ? undefined
    : ((await (await callApi(api, '/manage/reconciliation')).json()) as { data: { leads: number } }).data
        .leads

/** What a terminal is given of a file. */
const forTerminal = () => {
  const decoder = new TextDecoder()
  return (chunk: Buffer) => printableLines(decoder.decode(chunk, { stream: true }))
}

/** Lets bytes through as `shown`, and counts their lines: a lead is one, or some where its cells have several. */
const countLines = (
  onLines: (count: number) => void,
  shown: (chunk: Buffer) => Buffer | string,
): Transform => {
  let lines = 0
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) lines += 1
      onLines(lines)
      done(null, shown(chunk))
    },
  })
}

/** `leadwire export` */
export const addExport = (program: Command): void => {
  addApiOptions(program.command('export'))
    .description('write all leads of an account to a file, or to standard output')
    .argument('[file]')
    .addOption(new Option('--format <format>').choices(['ndjson', 'csv']).default('ndjson'))
    .option('--created-from <time>', 'leads created then and later, such as 2026-11-01T00:00:00Z')
    .option('--created-to <time>', 'leads created before then')
    .option(
      '--filter <name=value>',
      'leads that match, such as status=sold: a filter of GET /leads; may be repeated',
      (value, others: string[]) => [...others, value],
      [],
    )
    .option('--bom', 'begin a CSV file with a byte order mark, for Excel', false)
    .action(runExport)
}

const runExport = async (file: string | undefined, options: Options): Promise<void> => {
  const api = findApi(process.env, options)
  const { format, createdFrom, createdTo, filter, bom } = options
  const query = new URLSearchParams({
    format,
    ...(createdFrom && { created_from: createdFrom }),
    ...(createdTo && { created_to: createdTo }),
    ...(bom && { bom: '1' }),
  })
  for (const [, name, value] of filter.map((text) => /^([^=]*)=?(.*)$/s.exec(text)!))
    query.append(name!, value!)
  const response = await callApi(api, `/manage/exports?${query}`)
  const bar = startBar('leads', await totalOf(api, options))
  const target = file === undefined ? process.stdout : createWriteStream(file)
  const shown = target === process.stdout && process.stdout.isTTY ? forTerminal() : (chunk: Buffer) => chunk
  try {
    await pipeline(Readable.fromWeb(response.body as never), countLines(bar.update, shown), target)
  } catch (cause) {
    // Its reader needs no more.
    if (target === process.stdout && (cause as NodeJS.ErrnoException).code === 'EPIPE') return
    const why = cause instanceof Error ? cause.message : cause
    throw new Error(`The export broke off: ${file ?? 'what was written'} is not complete (${why}).`, {
      cause,
    })
  } finally {
    bar.stop()
  }
}
