export type Handlers = Record<string, (argument: never) => unknown>

type Call = { id: number; method: string; argument: unknown }

/**
 * Answers what the parent asks over the channel of `fork`, and says `ready` once. The process ends when its parent
 * does, however that ends; a terminal's Ctrl-C is the parent's to handle.
 */
export function serveParent(ready: unknown, handlers: Handlers): void {
  process.on('SIGINT', () => {})
  process.on('disconnect', () => process.exit(0))
  process.on('message', async ({ id, method, argument }: Call) => {
    try {
      const handler = handlers[method]
      if (!handler) throw new Error(`there is no ${method}`)
      process.send?.({ id, result: await handler(argument as never) })
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
  process.send?.({ ready })
}

/** The settings that startProgram gave. */
export function readSettings<Settings>(): Settings {
  return JSON.parse(process.argv[2] ?? '{}') as Settings
}
