export type Tone = 'good' | 'bad' | 'warn' | 'held' | 'calm'

/** A word with a coloured mark. The meaning does not depend on the colour. */
export const Badge = ({ word, tone }: { word: string; tone: Tone }) => (
  <span class={`badge ${tone}`}>{word}</span>
)
