import { SingleBar } from 'cli-progress'

/** A bar on standard error, of a terminal alone; `rest` stands behind it. Without a total it only counts. */
export const startBar = (what: string, total: number | undefined) => {
  const figures = total === undefined ? '{value}' : '{bar} {percentage}%'
  const bar = new SingleBar({ format: `${what} ${figures} {rest}`, hideCursor: true, clearOnComplete: false })
  bar.start(total ?? 0, 0, { rest: '' })
  return {
    update: (value: number, rest = '') => bar.update(value, { rest }),
    stop: () => bar.stop(),
  }
}
