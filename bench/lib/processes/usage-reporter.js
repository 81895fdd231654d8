/** Loaded with --import into Node subjects on systems without /proc: reports what the process has used. */
process.on("message", (message) => {
  if (message !== "usage") return;
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  process.send?.({
    cpuUs: userCPUTime + systemCPUTime,
    rssBytes: process.memoryUsage.rss(),
    rssAnonBytes: null,
    peakRssBytes: maxRSS * 1024,
  });
});
process.channel?.unref();
