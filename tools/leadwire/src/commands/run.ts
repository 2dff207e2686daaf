import { ServiceError } from '@leadwire/service-kit'
import { type Command, InvalidArgumentError } from 'commander'
import { type Connection, connect, findTargets } from '../connection'
import { type Output, render } from '../output'

/** Adds `--json` to a command and gives it its work: what it answers is printed, a text as it is. */
export const does = <Options extends object>(
  command: Command,
  work: (connection: Connection, options: Options) => Promise<Output | Output[] | string>,
): Command =>
  command.option('--json', 'print JSON', false).action(async (options: Options & { json: boolean }) => {
    const connection = connect(findTargets(process.env))
    try {
      const answer = await work(connection, options)
      process.stdout.write(`${typeof answer === 'string' ? answer : render(answer, options)}\n`)
    } finally {
      await connection.close()
    }
  })

/** Reads an id from the command line. */
export const id = (text: string): number => {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError('It must be a positive integer.')
  return number
}

/** What went wrong, in the words of the service, every faulty field on a line of its own. */
export const explain = (error: unknown): string => {
  if (!(error instanceof ServiceError)) return error instanceof Error ? error.message : String(error)
  const faults = Object.entries(error.faults).map(([field, messages]) => `  ${field}: ${messages.join(' ')}`)
  return [error.detail, ...faults].join('\n')
}
