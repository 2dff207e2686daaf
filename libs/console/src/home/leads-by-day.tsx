import type { FunctionComponent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { formatNumber } from '../parts/format'
import { useQuery } from '../parts/pager'
import { formatDay } from './days'
import type { ChartProps } from './leads-chart'
import { type Figures, groupFigures, type Sources } from './load-home'

/** The numbers of days that can be shown. */
export const SPANS = [7, 30, 90]

/** The number of colours. If there are more sources, the smallest ones share the last colour. */
const COLOURS = 6

const OTHER = 'Other sources'

const nameSource = (name: string, named: string[]) => (named.includes(name) ? name : OTHER)

/** Returns the leads of each day by source. The largest sources come first. */
const stack = ({ days, byDay, bySource }: Pick<Sources, 'days' | 'byDay' | 'bySource'>): ChartProps => {
  const largest = bySource.filter(({ created }) => created > 0).map(({ referrer = '' }) => referrer)
  const isShared = largest.length > COLOURS
  const named = isShared ? largest.slice(0, COLOURS - 1) : largest
  const sources = isShared ? [...named, OTHER] : named
  const figuresOf = groupFigures(byDay, ({ day = '' }) => day)
  const countSource = (figures: Figures[], source: string) =>
    figures.reduce(
      (sum, { referrer = '', created }) => sum + (nameSource(referrer, named) === source ? created : 0),
      0,
    )
  const stacks = days.map((day) => ({
    day,
    counts: sources.map((source) => countSource(figuresOf.get(day) ?? [], source)),
  }))
  return { sources, stacks }
}

const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0)

/** Loads the chart when its place comes into view. Without the chart, the table still has all numbers. */
const Chart = (props: ChartProps) => {
  const place = useRef<HTMLDivElement>(null)
  const [Drawing, setDrawing] = useState<FunctionComponent<ChartProps>>()
  useEffect(() => {
    const seen = new IntersectionObserver(([entry]) => {
      if (!entry!.isIntersecting) return
      seen.disconnect()
      import('./leads-chart').then(
        ({ LeadsChart }) => setDrawing(() => LeadsChart),
        () => undefined,
      )
    })
    seen.observe(place.current!)
    return () => seen.disconnect()
  }, [])
  return (
    <div class="leads-chart" ref={place} aria-hidden="true">
      {Drawing && <Drawing {...props} />}
    </div>
  )
}

const Numbers = ({ sources, stacks }: ChartProps) => (
  <details class="numbers">
    <summary>Show as table</summary>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
    <section class="scrolling" tabIndex={0} aria-label="Leads by day and source">
      <table>
        <caption class="unseen">Leads by day and source</caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col">All</th>
            {sources.map((source) => (
              <th key={source} scope="col">
                {source}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {stacks.toReversed().map(({ day, counts }) => (
            <tr key={day}>
              <th scope="row">{formatDay(day)}</th>
              <td>{formatNumber(sum(counts))}</td>
              {counts.map((count, index) => (
                <td key={sources[index]}>{formatNumber(count)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  </details>
)

const Spans = ({ days }: { days: number }) => {
  const [, changed] = useQuery()
  return (
    <nav class="spans" aria-label="Period">
      {SPANS.map((span) => (
        <Link
          key={span}
          class={span === days ? 'chosen' : undefined}
          href={changed({ days: String(span) })}
          aria-current={span === days ? 'true' : undefined}
        >
          {`${span} days`}
        </Link>
      ))}
    </nav>
  )
}

/** The leads of each day, stacked by source, as a chart and as a table. */
export const LeadsByDay = ({ figures, days }: { figures: Sources; days: number }) => {
  const { sources, stacks } = stack(figures)
  const totals = sources.map((_, index) => sum(stacks.map(({ counts }) => counts[index]!)))
  return (
    <section class="card padded" aria-labelledby="by-day">
      <div class="heading">
        <h2 id="by-day">Leads per day</h2>
        <Spans days={days} />
      </div>
      {sources.length === 0 ? (
        <p class="faint">{`No leads were created in the last ${days} days.`}</p>
      ) : (
        <>
          <Chart sources={sources} stacks={stacks} />
          <ul class="sources">
            {sources.map((source, index) => (
              <li key={source} class={`source-${index}`}>{`${source} ${formatNumber(totals[index]!)}`}</li>
            ))}
          </ul>
          <Numbers sources={sources} stacks={stacks} />
        </>
      )}
    </section>
  )
}
