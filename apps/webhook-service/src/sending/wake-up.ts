/** Lets one waiter sleep until it is woken or a time has passed; a call that comes while it is awake is not lost. */
export const createWakeUp = () => {
  let called = false
  let ring: (() => void) | undefined
  return {
    wake: (): void => {
      called = true
      ring?.()
    },
    sleep: async (ms: number): Promise<void> => {
      if (!called && ms > 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          ring = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      ring = undefined
      called = false
    },
  }
}
