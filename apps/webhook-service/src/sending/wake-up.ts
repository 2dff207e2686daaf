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
        let timer: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          ring = resolve
          timer = setTimeout(resolve, ms)
        })
        clearTimeout(timer)
      }
      called = false
    },
  }
}
