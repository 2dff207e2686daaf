export type Tone = 'good' | 'bad' | 'warn' | 'held' | 'calm'

/** A word with a mark, so that it does not depend on its colour. */
export const Badge = ({ word, tone }: { word: string; tone: Tone }) => (
  <span class={`badge ${tone}`}>{word}</span>
)
