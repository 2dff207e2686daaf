import { useEffect, useRef, useState } from 'preact/hooks'
import { formatNumber } from '../parts/format'
import { formatDay } from './days'

export interface ChartProps {
  sources: string[]
  /** The number of leads of each source on each day. */
  stacks: { day: string; counts: number[] }[]
}

const HEIGHT = 220
const TOP = 10
const BOTTOM = 24
const LEFT = 44
const WIDEST_BAR = 40
const LINES = 4

/** Returns the distance between two lines, so that at most LINES lines reach `most`. */
const chooseStep = (most: number): number => {
  const least = Math.max(1, most / LINES)
  const magnitude = 10 ** Math.floor(Math.log10(least))
  return [1, 2, 5, 10].map((digit) => digit * magnitude).find((step) => step >= least)!
}

/** Returns which days have a label: about every 75 pixels, and always the last day. */
const chooseLabels = (count: number, width: number): ((index: number) => boolean) => {
  const every = Math.ceil(count / Math.max(1, Math.floor(width / 75)))
  return (index) => (count - 1 - index) % every === 0
}

/** Returns the segments of a bar from the bottom up, as distances from the axis. */
const listSegments = (counts: number[]) => {
  let end = 0
  return counts.map((count) => {
    const start = end
    end += count
    return { start, end }
  })
}

/** A chart of the leads of each day. A bar has a segment for each source. */
export const LeadsChart = ({ sources, stacks }: ChartProps) => {
  const place = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const resized = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width))
    resized.observe(place.current!)
    return () => resized.disconnect()
  }, [])
  const totals = stacks.map(({ counts }) => counts.reduce((sum, count) => sum + count, 0))
  const step = chooseStep(Math.max(1, ...totals))
  const most = Math.ceil(Math.max(1, ...totals) / step) * step
  const findY = (count: number) => HEIGHT - BOTTOM - (count / most) * (HEIGHT - TOP - BOTTOM)
  const slot = Math.max(0, width - LEFT) / stacks.length
  const bar = Math.min(WIDEST_BAR, slot * 0.76)
  const isLabelled = chooseLabels(stacks.length, width - LEFT)
  return (
    <div ref={place}>
      {width > 0 && (
        <svg width={width} height={HEIGHT} aria-hidden="true">
          {Array.from({ length: most / step + 1 }, (_, index) => index * step).map((count) => (
            <g key={count}>
              <line class="grid" x1={LEFT} x2={width} y1={findY(count)} y2={findY(count)} />
              <text x={LEFT - 8} y={findY(count)} dy="0.32em" text-anchor="end">
                {formatNumber(count)}
              </text>
            </g>
          ))}
          {stacks.map(({ day, counts }, at) => (
            <g key={day}>
              {listSegments(counts).map(
                ({ start, end }, index) =>
                  end > start && (
                    <rect
                      key={sources[index]}
                      class={`source-${index}`}
                      x={LEFT + at * slot + (slot - bar) / 2}
                      y={findY(end)}
                      width={bar}
                      height={findY(start) - findY(end)}
                    >
                      <title>{`${formatDay(day)}: ${sources[index]} ${formatNumber(counts[index]!)} of ${formatNumber(totals[at]!)}`}</title>
                    </rect>
                  ),
              )}
              {isLabelled(at) && (
                <text
                  x={at === stacks.length - 1 ? width : LEFT + (at + 0.5) * slot}
                  y={HEIGHT - 6}
                  text-anchor={at === stacks.length - 1 ? 'end' : 'middle'}
                >
                  {formatDay(day)}
                </text>
              )}
            </g>
          ))}
        </svg>
      )}
    </div>
  )
}
