import { plain } from './figure'

export interface Series {
  name: string
  points: [x: number, y: number][]
}

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 320, 70, 110, 40, 40]
const COLOURS = ['#1f77b4', '#d62728', '#2ca02c']

/** Lines over a logarithmic x; y from 0. The texts must hold nothing that XML reads as its own. */
export const chart = ({ title, series }: { title: string; series: Series[] }): string => {
  const points = series.flatMap((one) => one.points)
  const xs = [...new Set(points.map(([x]) => x))].sort((a, b) => a - b)
  const [first, last] = [Math.log(xs[0]!), Math.log(xs.at(-1)!)]
  const most = Math.max(...points.map(([, y]) => y))
  const xOf = (x: number) => LEFT + ((Math.log(x) - first) / (last - first)) * (WIDTH - LEFT - RIGHT)
  const yOf = (y: number) => HEIGHT - BOTTOM - (y / most) * (HEIGHT - TOP - BOTTOM)
  const text = (x: number, y: number, what: string, rest = '') =>
    `<text x="${x}" y="${y}" ${rest}>${what}</text>`
  const line = (y: number) =>
    `<path d="M${LEFT} ${yOf(y)}H${WIDTH - RIGHT}" stroke="#ddd"/>${text(LEFT - 8, yOf(y) + 4, plain(Math.round(y)), 'text-anchor="end"')}`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    text(LEFT, 20, title, 'font-weight="bold"'),
    ...[0, most / 2, most].map(line),
    ...xs.map((x) => text(xOf(x), HEIGHT - BOTTOM + 18, x.toLocaleString('en-GB'), 'text-anchor="middle"')),
    ...series.map(({ name, points }, index) => {
      const path = points.map(([x, y]) => `${xOf(x)},${yOf(y)}`).join(' ')
      const end = yOf(points.at(-1)![1]) + 4 + index * 2
      return `<polyline points="${path}" fill="none" stroke="${COLOURS[index]}" stroke-width="2"/>${text(WIDTH - RIGHT + 8, end, name, `fill="${COLOURS[index]}"`)}`
    }),
    '</svg>\n',
  ].join('\n')
}
