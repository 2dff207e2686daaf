/** The running system under test, as a stack or as machines. The load and the checks use it. */
export interface Ground {
  /** Settings with which `leadwire` finds the services. */
  cli: NodeJS.ProcessEnv
  /** The base URL of the API. */
  base: string
  token: string
  accountId: number
  databaseUrl: (name: string) => string
  /** The last lines of the logs. */
  lastLines: string[]
  stop: () => Promise<void>
}
