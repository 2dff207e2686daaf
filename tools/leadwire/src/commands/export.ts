import { createWriteStream } from 'node:fs'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isInvisible } from '@leadwire/contracts'
import { isInstant } from '@leadwire/requests'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { callApi } from '../api'
import { type Api, findApi } from '../connection'
import { printableLines } from '../output'
import { startBar } from '../progress-bar'
import { addApiOptions } from './run'

interface Options extends Partial<Api> {
  format: 'ndjson' | 'csv'
  createdFrom?: string
  createdTo?: string
  filter: [name: string, value: string][]
  bom: boolean
}

const LINE_FEED = 0x0a

/** Returns the number of leads that are exported. Undefined if filters select some of them. */
const countLeads = async (
  api: Api,
  { createdFrom, createdTo, filter }: Options,
): Promise<number | undefined> => {
  if (createdFrom || createdTo || filter.length > 0) return undefined
  const response = await callApi(api, '/manage/reconciliation')
  const { data } = (await response.json()) as { data: { leads: number } }
  return data.leads
}

/** Returns a function that makes chunks of text safe for a terminal. */
const createTerminalFilter = () => {
  const decoder = new TextDecoder()
  return (chunk: Buffer) => printableLines(decoder.decode(chunk, { stream: true }))
}

/**
 * Passes chunks through `convert`, and counts lines. A lead is one line, or more if its cells have line
 * breaks.
 */
const countLines = (
  onLines: (count: number) => void,
  convert: (chunk: Buffer) => Buffer | string,
): Transform => {
  let lines = 0
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      for (const byte of chunk) {
        if (byte === LINE_FEED) lines += 1
      }
      onLines(lines)
      done(null, convert(chunk))
    },
  })
}

/**
 * Parses a filter and adds it to the others. Refuses an empty filter, because the API would ignore it and
 * export all leads.
 */
const addFilter = (text: string, others: Options['filter']): Options['filter'] => {
  const [, name = '', value = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? []
  if (isInvisible(name) || isInvisible(value))
    throw new InvalidArgumentError('It must be a name and a value, such as status=sold.')
  return [...others, [name, value]]
}

/** Checks an instant. Refuses an empty instant, because the API would ignore it and export all leads. */
const parseInstant = (text: string): string => {
  if (isInstant(text)) return text
  throw new InvalidArgumentError('It must be an instant such as 2026-01-31T09:30:00Z.')
}

/** Adds `leadwire export`. */
export const addExport = (program: Command): void => {
  addApiOptions(program.command('export'))
    .description('export the leads of an account to a file, or to standard output')
    .argument('[file]')
    .addOption(new Option('--format <format>').choices(['ndjson', 'csv']).default('ndjson'))
    .option(
      '--created-from <time>',
      'only leads created at or after this instant, such as 2026-11-01T00:00:00Z',
      parseInstant,
    )
    .option('--created-to <time>', 'only leads created before this instant', parseInstant)
    .option(
      '--filter <name=value>',
      'only leads that match a filter of GET /leads, such as status=sold; may be repeated',
      addFilter,
      [],
    )
    .option('--bom', 'start a CSV file with a byte order mark, for Excel', false)
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
  for (const [name, value] of filter) query.append(name, value)
  const response = await callApi(api, `/manage/exports?${query}`)
  const bar = startBar('leads', await countLeads(api, options))
  const target = file === undefined ? process.stdout : createWriteStream(file)
  const isTerminal = target === process.stdout && process.stdout.isTTY
  const convert = isTerminal ? createTerminalFilter() : (chunk: Buffer) => chunk
  try {
    await pipeline(Readable.fromWeb(response.body as never), countLines(bar.update, convert), target)
  } catch (cause) {
    // Ends without an error if the reader of the pipe needs no more output.
    if (target === process.stdout && (cause as NodeJS.ErrnoException).code === 'EPIPE') return
    const why = cause instanceof Error ? cause.message : cause
    throw new Error(`The export failed: ${file ?? 'the output'} is not complete (${why}). Try again.`, {
      cause,
    })
  } finally {
    bar.stop()
  }
}
