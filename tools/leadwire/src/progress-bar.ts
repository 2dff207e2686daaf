import { SingleBar } from 'cli-progress'

/**
 * Starts a progress bar on standard error, if that is a terminal. Shows `rest` after the bar. Without a
 * total, shows only the current value.
 */
export const startBar = (what: string, total: number | undefined) => {
  const figures = total === undefined ? '{value}' : '{bar} {percentage}%'
  const bar = new SingleBar({ format: `${what} ${figures} {rest}`, hideCursor: true, clearOnComplete: false })
  bar.start(total ?? 0, 0, { rest: '' })
  return {
    update: (value: number, rest = '') => bar.update(value, { rest }),
    stop: () => bar.stop(),
  }
}
