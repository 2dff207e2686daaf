import { useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import type { Schemas } from '../api'
import { sumHours } from '../endpoints'
import { type Counts, formatClock, formatNumber } from './format'

const HOUR_MS = 3_600_000
const HOURS = 24
const HEIGHT = 160

type Hour = Schemas['WebhookEndpointHour']

/** Returns the last 24 clock hours, oldest first, including hours without attempts. */
const fillDay = (hours: Hour[]): (Counts & { start: number })[] => {
  const byTime = new Map(hours.map((one) => [Date.parse(one.hour), one]))
  const last = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  return Array.from({ length: HOURS }, (_, index) => {
    const start = last - (HOURS - 1 - index) * HOUR_MS
    return { start, succeeded: byTime.get(start)?.succeeded ?? 0, failed: byTime.get(start)?.failed ?? 0 }
  })
}

const draw = (Plot: typeof uPlot, place: HTMLElement): uPlot => {
  const colour = (name: string) => getComputedStyle(place).getPropertyValue(name)
  const bars = Plot.paths.bars!({ size: [0.72, 30], align: 1 })
  const axis = {
    stroke: colour('--faint'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  }
  const series = (name: string) => ({ fill: colour(name), width: 0, paths: bars, points: { show: false } })
  return new Plot(
    {
      width: place.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      // Adds an hour at the end of the axis, so that the last bar has its full width.
      scales: {
        x: { range: (_, min, max) => [min, max + HOUR_MS / 1000] },
        y: { range: (_, min, max) => [Math.min(min, 0), Math.max(max, 1)] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          values: (_, splits) => splits.map((seconds) => formatClock(seconds * 1000)),
        },
        {
          ...axis,
          size: 44,
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10_000, 100_000],
          values: (_, splits) => splits.map((count) => formatNumber(Math.abs(count))),
        },
      ],
      series: [{}, series('--good'), series('--bad')],
    },
    [[], [], []],
    place,
  )
}

/**
 * A chart of the attempts by hour. Successes are above the axis and failures below, so that colour is not
 * needed.
 */
export const AttemptsChart = ({ hours }: { hours: Hour[] }) => {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>()
  const day = fillDay(hours)
  const latest = useRef(day)
  latest.current = day
  const show = () =>
    plot.current?.setData([
      latest.current.map(({ start }) => start / 1000),
      latest.current.map(({ succeeded }) => succeeded),
      latest.current.map(({ failed }) => -failed),
    ])

  useEffect(() => {
    const theme = matchMedia('(prefers-color-scheme: dark)')
    let isUnmounted = false
    const drawAgain = async () => {
      const { default: Plot } = await import('uplot')
      plot.current?.destroy()
      if (isUnmounted || !place.current) return
      plot.current = draw(Plot, place.current)
      show()
    }
    const resized = new ResizeObserver(([entry]) =>
      plot.current?.setSize({ width: entry!.contentRect.width, height: HEIGHT }),
    )
    void drawAgain()
    resized.observe(place.current!)
    theme.addEventListener('change', drawAgain)
    return () => {
      isUnmounted = true
      resized.disconnect()
      theme.removeEventListener('change', drawAgain)
      plot.current?.destroy()
    }
  }, [])
  useEffect(() => void show(), [hours])

  const { succeeded, failed } = sumHours(day)
  return (
    <section class="card padded" aria-labelledby="attempts">
      <div class="heading">
        <h2 id="attempts">Attempts in the last 24 hours</h2>
        <p class="legend">
          <span class="good">{formatNumber(succeeded)} succeeded</span>
          <span class="bad">{formatNumber(failed)} failed</span>
        </p>
      </div>
      <div class="chart" ref={place} aria-hidden="true" />
      <details class="numbers">
        <summary>Show as table</summary>
        <table>
          <caption class="unseen">Attempts by the hour</caption>
          <thead>
            <tr>
              <th scope="col">Hour</th>
              <th scope="col">Succeeded</th>
              <th scope="col">Failed</th>
            </tr>
          </thead>
          <tbody>
            {day.map((hour) => (
              <tr key={hour.start}>
                <th scope="row">{formatClock(hour.start)}</th>
                <td>{formatNumber(hour.succeeded)}</td>
                <td>{formatNumber(hour.failed)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </section>
  )
}
