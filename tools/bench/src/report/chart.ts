import { plain } from './figure'
import { escapeXml, svgOf } from './svg'

export type Series = { name: string; points: [x: number, y: number][] }

const WIDTH = 720
const HEIGHT = 360
const LEFT = 70
const RIGHT = 170
const TOP = 40
const BOTTOM = 50
const COLOURS = ['#1f77b4', '#d62728', '#2ca02c', '#9467bd', '#ff7f0e', '#8c564b']

/** Lines over a logarithmic x-axis; the y-axis begins at zero unless it is logarithmic too. */
export function chart(options: {
  title: string
  xTitle: string
  yTitle: string
  series: Series[]
  logarithmic?: boolean
}): string {
  const { title, xTitle, yTitle, series, logarithmic = false } = options
  const points = series.flatMap((one) => one.points)
  const ticks = [...new Set(points.map(([x]) => x))].sort((a, b) => a - b)
  const ys = points.map(([, y]) => y).filter((y) => y > 0)
  const range: [number, number] = logarithmic
    ? [10 ** Math.floor(Math.log10(Math.min(...ys))), 10 ** Math.ceil(Math.log10(Math.max(...ys)))]
    : [0, roundUp(Math.max(...ys))]
  const place = placing(ticks, range, logarithmic)
  return svgOf(WIDTH, HEIGHT, [
    `<text x="${LEFT}" y="20" font-size="14" font-weight="bold">${escapeXml(title)}</text>`,
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 10}" text-anchor="middle">${escapeXml(xTitle)}</text>`,
    `<text transform="translate(14 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">${escapeXml(yTitle)}</text>`,
    ...yLines(range, logarithmic).map((y) => yLine(y, place.y(y))),
    ...ticks.map((x) => xTick(x, place.x(x))),
    ...series.flatMap((one, index) => line(one, index, place)),
  ])
}

function placing(ticks: number[], [low, high]: [number, number], logarithmic: boolean) {
  const first = Math.log(ticks[0] ?? 1)
  const width = Math.log(ticks.at(-1) ?? 1) - first || 1
  const share = (y: number) =>
    logarithmic ? Math.log(Math.max(y, low) / low) / Math.log(high / low) : (y - low) / (high - low)
  return {
    x: (x: number) => LEFT + ((Math.log(x) - first) / width) * (WIDTH - LEFT - RIGHT),
    y: (y: number) => HEIGHT - BOTTOM - share(y) * (HEIGHT - TOP - BOTTOM),
  }
}

function roundUp(value: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(value))
  return ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * magnitude >= value) ?? 10) * magnitude
}

function yLines([low, high]: [number, number], logarithmic: boolean): number[] {
  if (!logarithmic) return Array.from({ length: 6 }, (_, index) => (high * index) / 5)
  return Array.from({ length: Math.round(Math.log10(high / low)) + 1 }, (_, index) => low * 10 ** index)
}

function yLine(value: number, y: number): string {
  return (
    `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y}" y2="${y}" stroke="#ddd"/>` +
    `<text x="${LEFT - 6}" y="${y + 4}" text-anchor="end">${plain(value)}</text>`
  )
}

function xTick(value: number, x: number): string {
  const text =
    value >= 10_000 ? value.toExponential(0).replace('e+', '·10^').replace('1·', '') : String(value)
  return `<text x="${x}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${text}</text>`
}

function line({ name, points }: Series, index: number, place: ReturnType<typeof placing>): string[] {
  const colour = COLOURS[index % COLOURS.length]
  const placed = points.map(([x, y]) => `${place.x(x).toFixed(1)},${place.y(y).toFixed(1)}`)
  const y = TOP + 16 * index + 10
  return [
    `<polyline points="${placed.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    ...placed.map(
      (at) => `<circle cx="${at.split(',')[0]}" cy="${at.split(',')[1]}" r="3" fill="${colour}"/>`,
    ),
    `<rect x="${WIDTH - RIGHT + 12}" y="${y - 9}" width="10" height="10" fill="${colour}"/>`,
    `<text x="${WIDTH - RIGHT + 28}" y="${y}">${escapeXml(name)}</text>`,
  ]
}
