import { dataDirectory } from '../paths'
import type { readOptions } from './options.cjs'

export type StackOptions = Omit<ReturnType<typeof readOptions>, 'help'> & {
  data: string
  host: string
  port: number
}

/**
 * Combines the options with the environment. HOST and PORT are checked later, with the other settings of the
 * gateway.
 */
export function stackOptions(options: ReturnType<typeof readOptions>, env: NodeJS.ProcessEnv): StackOptions {
  return {
    ...options,
    data: dataDirectory(env),
    host: env['HOST'] || '127.0.0.1',
    port: Number(env['PORT'] || '3000'),
  }
}
