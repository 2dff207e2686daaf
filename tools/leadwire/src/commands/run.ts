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
    const connection = connect(findTargets(process.env))
    try {
      const answer = await work(connection, options)
      // An account that does not exist has none of anything, either.
      if (Array.isArray(answer) && answer.length === 0 && options.account !== undefined)
        await theAccount(connection, options.account)
      process.stdout.write(`${typeof answer === 'string' ? answer : render(answer, options)}\n`)
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
  return text
}

// fetch says why only in its cause.
const messageOf = ({ message, cause }: Error) =>
  message === 'fetch failed' && cause instanceof Error
    ? `The stack can't be reached: ${cause.message}. Does it run?`
    : message

/** What went wrong, in the words of the service, every invalid field on a line of its own. */
export const explain = (error: unknown): string => {
  const errors = error instanceof ServiceError ? Object.entries(error.fieldErrors) : []
  const message = error instanceof Error ? messageOf(error) : String(error)
  const lines = errors.map(([field, messages]) => `  ${field}: ${messages.join(' ')}`)
  return printableLines([message, ...lines].join('\n'))
}
