import { LeadwireProblem } from '@leadwire/client'
import type { Account } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { type Command, InvalidArgumentError } from 'commander'
import { type Connection, connect, findTargets } from '../connection'
import { type Output, printableLines, render } from '../output'

interface CommonOptions {
  json: boolean
  account?: number
}

/** Adds `--json` to a command and gives it its work: what it answers is printed, a text as it is. */
export const does = <Options extends object>(
  command: Command,
  work: (connection: Connection, options: Options) => Promise<Output | Output[] | string>,
): Command =>
  command.option('--json', 'print JSON', false).action(async (options: Options & CommonOptions) => {
    const targets = findTargets(process.env)
    const connection = connect(targets)
    try {
      const answer = await work(connection, options)
      // An account that does not exist has none of anything, either.
      if (Array.isArray(answer) && answer.length === 0 && options.account !== undefined)
        await theAccount(connection, options.account)
      process.stdout.write(`${typeof answer === 'string' ? answer : render(answer, options)}\n`)
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'unavailable') throw error
      const { leads, webhooks } = targets
      throw new Error(
        `${error.message} leads-service is expected at ${leads}, webhook-service at ${webhooks}.`,
      )
    } finally {
      await connection.close()
    }
  })

/** Throws not_found: webhook-service does not know which accounts there are. */
export const theAccount = async ({ accounts }: Connection, accountId: number): Promise<Account> =>
  (await accounts.retrieveAccount({ accountId })).account!

/** Reads an id from the command line. */
export const id = (text: string): number => {
  const number = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError('It must be a positive integer.')
  return number
}

/** Reads an instant: ISO 8601 with an offset, as the API takes it. */
export const instant = (text: string): string => {
  const [, day = '-'] =
    /^((?!0000)\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/.exec(text) ?? []
  // Date takes 30 February for 2 March.
  if (!new Date(day).toJSON()?.startsWith(day) || Number.isNaN(Date.parse(text)))
    throw new InvalidArgumentError('It must be an instant such as 2026-01-31T09:30:00Z.')
  // PostgreSQL would round it, the last one of 9999 to the year 10000.
  return text.replace(/(\.\d{6})\d+/, '$1')
}

/** Reads a list whose items are parted by commas. */
export const list = (text: string): string[] => text.split(',').map((item) => item.trim())

/** Adds the options that name the API and the account of a token. */
export const addApiOptions = (command: Command): Command =>
  command
    .option('--url <url>', 'where Leadwire is (LEADWIRE_URL); the stack of npm start when absent')
    .option('--token <token>', 'a bearer token of the account (LEADWIRE_TOKEN)')

/** An invalid field by the option that gives it, such as --filter-status, or --header X-Key of `headers.X-Key`, where the command has one. */
const optionOf = (field: string, options: string[]): string => {
  const whole = `--${field.replaceAll(/[._]/g, '-')}`
  if (options.includes(whole)) return whole
  const [name = '', key] = field.split(/\.(.*)/s)
  const option = `--${name.replaceAll('_', '-')}`
  if (options.includes(option)) return option
  const single = option.replace(/s$/, '')
  return options.includes(single) ? [single, key].filter(Boolean).join(' ') : field
}

const messageOf = (error: unknown): string => {
  if (!(error instanceof LeadwireProblem)) return error instanceof Error ? error.message : String(error)
  // Without a response the fetch says why, unless its time was up.
  if (error.status === 0 && error.cause instanceof Error && error.cause.name !== 'AbortError')
    return error.cause.message
  return error.kind === 'unauthenticated' ? `The token was refused: ${error.message}` : error.message
}

/** What went wrong, in the words of the service, every invalid field on a line of its own. `options` are those of the command. */
export const explain = (error: unknown, options: string[] = []): string => {
  const errors =
    error instanceof ServiceError ? error.fieldErrors : error instanceof LeadwireProblem ? error.errors : {}
  const lines = Object.entries(errors).map(
    ([field, messages]) => `  ${optionOf(field, options)}: ${messages.join(' ')}`,
  )
  return printableLines([messageOf(error), ...lines].join('\n'))
}
