/**
 * Loaded into an agent with --import: time passes slowly. The agent cuts requests into slices when its pipelines seem to
 * take long, so on a busy machine it would do other work than on a quiet one.
 */
const SPEED = 0.01;
const now = performance.now.bind(performance);
performance.now = () => now() * SPEED;
