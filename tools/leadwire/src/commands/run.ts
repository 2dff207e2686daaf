import { LeadwireProblem } from '@leadwire/client'
import type { Account } from '@leadwire/contracts'
import { ServiceError, untilSuccess } from '@leadwire/service-kit'
import { type Command, InvalidArgumentError } from 'commander'
import { type Connection, connect, findTargets } from '../connection'
import { type Output, printableLines, render } from '../output'

interface CommonOptions {
  json: boolean
  account?: number
}

/**
 * Sets the action of a command and adds `--json`. Prints the result of `work`; a string is printed unchanged.
 */
export const addAction = <Options extends object>(
  command: Command,
  work: (connection: Connection, options: Options) => Promise<Output | Output[] | string>,
): Command =>
  command.option('--json', 'print JSON', false).action(async (options: Options & CommonOptions) => {
    const targets = findTargets(process.env)
    const connection = connect(targets)
    try {
      const result = await work(connection, options)
      // An empty list may mean that the account does not exist. Throws `not_found` in this case.
      if (Array.isArray(result) && result.length === 0 && options.account !== undefined)
        await requireAccount(connection, options.account)
      process.stdout.write(`${typeof result === 'string' ? result : render(result, options)}\n`)
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'unavailable') throw error
      const { leads, webhooks } = targets
      throw new Error(`${error.message} Check leads-service at ${leads} and webhook-service at ${webhooks}.`)
    } finally {
      await connection.close()
    }
  })

/**
 * Returns an account, or throws `not_found`. Commands that call webhook-service need this check, because
 * webhook-service has no accounts.
 */
export const requireAccount = async ({ accounts }: Connection, accountId: number): Promise<Account> =>
  (await accounts.retrieveAccount({ accountId })).account!

/**
 * How long a call is retried while a service is unavailable: long enough for a rolling restart. A check of
 * all events of ten million leads takes hours, and must not end because of a restart.
 */
const UNAVAILABLE_LIMIT_MS = 30_000

/** Calls a service again while it is unavailable, for at most 30 seconds. */
export const retryWhileUnavailable = <T>(call: () => Promise<T>): Promise<T> => {
  const until = Date.now() + UNAVAILABLE_LIMIT_MS
  const onFailure = (error: unknown) => {
    if (!(error instanceof ServiceError && error.code === 'unavailable') || Date.now() > until) throw error
  }
  return untilSuccess(call, { signal: new AbortController().signal, pauseMs: 250, onFailure })
}

interface ListPage<Item> {
  items: Item[]
  /** The start of the next page. Undefined on the last page. */
  nextAfter: number | undefined
}

/** Returns the items of all pages of a list. */
export const listAll = async <Item>(
  listPage: (request: { after: number | undefined; limit: number }) => Promise<ListPage<Item>>,
): Promise<Item[]> => {
  const all: Item[] = []
  let after: number | undefined
  do {
    const page = await listPage({ after, limit: 100 })
    all.push(...page.items)
    after = page.nextAfter
  } while (after !== undefined)
  return all
}

/** Parses an id from the command line. */
export const parseId = (text: string): number => {
  const number = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError('It must be a positive integer.')
  return number
}

/** Parses a list whose items are separated by commas. */
export const parseList = (text: string): string[] => text.split(',').map((item) => item.trim())

/** Adds the option for the base URL of the API, whose console opens sign-in links. */
export const addUrlOption = (command: Command): Command =>
  command.option(
    '--url <url>',
    'address of Leadwire in sign-in links (LEADWIRE_URL; default: the stack of npm start)',
  )

/** Adds the options for the base URL of the API and a token. */
export const addApiOptions = (command: Command): Command =>
  command
    .option('--url <url>', 'address of Leadwire (LEADWIRE_URL; default: the stack of npm start)')
    .option('--token <token>', 'bearer token of the account (LEADWIRE_TOKEN)')

/**
 * Finds the option that sets an invalid field, such as --filter-status for an element of `filter.status`, or
 * --header X-Key for `headers.X-Key`. Returns the field itself if there is no such option.
 */
const findOption = (path: string, options: string[]): string => {
  const findName = (name: string) => {
    const option = `--${name.replaceAll(/[._]/g, '-')}`
    const spellings = [option, option.replace(/s$/, ''), option.replace(/-(id|reference)$/, '')]
    return spellings.find((spelling) => options.includes(spelling))
  }
  const field = path.replace(/\.\d+$/, '')
  const whole = findName(field)
  if (whole) return whole
  const [name = '', key] = field.split(/\.(.*)/s)
  const option = findName(name)
  return option ? [option, key].filter(Boolean).join(' ') : field
}

const findMessage = (error: unknown): string => {
  if (!(error instanceof LeadwireProblem)) return error instanceof Error ? error.message : String(error)
  // Without a response, the error of the fetch has the reason, unless the request timed out.
  if (error.status === 0 && error.cause instanceof Error && error.cause.name !== 'AbortError')
    return error.cause.message
  return error.kind === 'unauthenticated' ? `The token was rejected: ${error.message}` : error.message
}

const listFieldErrors = (error: unknown): Record<string, string[]> => {
  if (error instanceof ServiceError) return error.fieldErrors
  return error instanceof LeadwireProblem ? error.errors : {}
}

/** Renders an error with a line for each invalid field. `options` are the options of the command. */
export const explain = (error: unknown, options: string[] = []): string => {
  const lines = Object.entries(listFieldErrors(error)).map(
    ([field, messages]) => `  ${findOption(field, options)}: ${messages.join(' ')}`,
  )
  return printableLines([findMessage(error), ...lines].join('\n'))
}
