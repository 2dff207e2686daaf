/** What the load, the records and the verification need of whatever runs. */
export interface Ground {
  /** Where `leadwire` finds the services. */
  cli: NodeJS.ProcessEnv
  /** The address of the API. */
  base: string
  token: string
  accountId: number
  databaseUrl: (name: string) => string
  /** What was logged last. */
  lastLines: string[]
  stop: () => Promise<void>
}
